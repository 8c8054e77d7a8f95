"""Bugs of time and order: back-offs, clocks, turns, and what waits for whom."""

from typing import Any

from muster.daemon.clocks import WallClock
from muster.state.facts import presence
from muster.state.facts.context import Context
from muster.state.policies import deadline, ending
from muster.state.policies.failures import repair
from muster.state.policies.gathering import blocked
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Record
from muster.state.vocabulary.rules import Backoff
from tests.planted.bug import Hunt, Swaps, bug, instead_of, swap


@bug(Hunt("clean", "member-fails"), shown_by="before its back-off")
def backoff_ignored() -> Swaps:
    """A failed gang starts again at once."""
    return [swap(Backoff, "delay", lambda self, restart: 0.0)]


@bug(Hunt("clean", "fails-again"), shown_by="before its back-off")
def backoff_never_grows() -> Swaps:
    """Each restart waits as long as the first."""
    delay = Backoff.delay
    return [swap(Backoff, "delay", lambda self, restart: delay(self, 1))]


@bug(Hunt("clean", "fails-again"), shown_by="late")
def backoff_one_restart_ahead() -> Swaps:
    """Each restart waits as long as the next one should."""
    delay = Backoff.delay
    return [swap(Backoff, "delay", lambda self, restart: delay(self, restart + 1))]


@bug(Hunt("clean", "preempted-again"), shown_by="before its back-off")
def disruptions_never_wait() -> Swaps:
    """A gang that is disrupted again and again starts again at once."""
    return [swap(repair, "disrupted", lambda plan, row, epoch, attempt=0: 0.0)]


@bug(Hunt("clean", "unschedulable-fails"), shown_by="after its clock")
@instead_of(deadline, "running")
def clock_five_seconds_late(running: Any, plan: Plan, record: Record) -> list[tuple[Any, float]]:
    """The pending clock is 5 s longer than it should be."""
    return [(clock, at + 5.0) for clock, at in running(plan, record)]


@bug(Hunt("clean", "gated"))
def queue_charged() -> Swaps:
    """Clocks run while a scheduling gate is on the pods."""
    return [swap(blocked, "queued", lambda record: False)]


@bug(Hunt("clock-step", "member-fails"), Hunt("clock-step", "total-passes"))
def clock_step_unnoticed() -> Swaps:
    """A step of the wall clock moves no persisted time."""
    return [swap(WallClock, "__call__", lambda self: self._wall())]


@bug(Hunt("clean", "finalizer-on-experiment"), shown_by="is not asked to go")
def deletion_left_to_others() -> Swaps:
    """The pods of an Experiment that is being deleted are left to the garbage collector."""
    return [swap(ending, "clear_away", lambda context: ())]


@bug(Hunt("clean", "happy", operator="jobset-sequential"), shown_by="run together")
def all_at_once() -> Swaps:
    """The members of a job run together, whatever its parallelism."""
    return [swap(Group, "at_a_time", property(lambda self: self.size))]


@bug(Hunt("clean", "survivors-hang"), Hunt("clean", "member-fails"))
def barrier_clear_late() -> Swaps:
    """An epoch begins some seconds after the last old pod has gone."""
    firsts: dict[int, float] = {}
    clear = presence.none_older

    def slow(context: Context) -> bool:
        free = clear(context)
        if context.record.phase.value != "Restarting" or not free:
            return free
        return context.now >= firsts.setdefault(context.record.epoch, context.now) + 20.0

    return [swap(presence, "none_older", slow)]
