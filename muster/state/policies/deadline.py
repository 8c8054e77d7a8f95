"""Deadlines: what happens when a clock of the plan has run out. ``state.vocabulary.rules`` has the table of clocks.

Each deadline is computed from a persisted time and never from a timer's memory. A suspended or finished experiment has
no running clock, nor has one whose pods are queued by scheduling gates, except those whose row has ``while_idle``. An
experiment in the phase Queued has the total clock, too.

A clock ends something because something has *not* happened, and a late cache looks just like that: it may hide the last
node, or the success. So a clock that has run out acts only on what the live API has reported since.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from muster.api.gang import MAX_MEMBERS
from muster.api.values.rank_ranges import from_ranges
from muster.state.facts.context import Context
from muster.state.facts.diagnosis import diagnose, hangs
from muster.state.facts.sentences import of_ends, of_idle, of_lingering
from muster.state.policies.gathering import blocked
from muster.state.policies.restart import spend
from muster.state.policies.verdicts import Fail, ReadFirst, Repair, Restart
from muster.state.vocabulary.actions import EndRun
from muster.state.vocabulary.group import Member
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Cause, Phase, Record
from muster.state.vocabulary.rules import ClockAction, ClockName, ClockRule


def running(plan: Plan, record: Record) -> list[tuple[ClockRule, float]]:
    """Return the running clocks, in the order of the table, and when each runs out, in wall seconds."""
    idle = record.finished or record.phase is Phase.SUSPENDED or blocked.queued(record)
    return [
        (clock, begin + clock.after)
        for clock in plan.clocks
        if (begin := getattr(record, clock.begins.value)) is not None
        and (clock.ends is None or getattr(record, clock.ends.value) is None)
        and (clock.while_idle or not idle)
        and (record.phase is not Phase.QUEUED or clock.while_idle or clock.name is ClockName.TOTAL)
        and not (clock.groups and _completed(plan, record, clock))
    ]


def _completed(plan: Plan, record: Record, clock: ClockRule) -> bool:
    """Return True if, by the record, all ranks of the clock's groups have succeeded."""
    done = _ranks(record.completed)
    groups = (group for group in plan.groups if group.name in clock.groups)
    return all(group.first_rank + place in done for group in groups for place in range(group.size))


@lru_cache(maxsize=64)
def _ranks(ranges: str) -> frozenset[int]:
    return frozenset(from_ranges(ranges, MAX_MEMBERS))


def passed(context: Context, clocks: Iterable[tuple[ClockRule, float]]) -> list[ClockRule]:
    """Return the clocks that have run out among those that are ``running``."""
    over = (clock for clock, end in clocks if end <= context.now)
    return [clock for clock in over if not clock.groups or _late(context, clock) is not None]


def judge(context: Context, passed: Sequence[ClockRule]) -> Restart | Repair | Fail | ReadFirst | None:
    """Apply the action of the first passed clock. Clocks that only alert are shown by the rendezvous policy."""
    clock = next((clock for clock in passed if not _alerts_only(clock)), None) if passed else None
    if clock is None:
        return None
    if unsure(context, clock):
        return ReadFirst()
    message = sentence(context, clock)
    if clock.action is ClockAction.FAIL:
        return Fail(clock.reason, message, named=_missing(context, clock))
    cause = Cause(context.record.epoch, clock.reason, message, context.now)
    late = _late(context, clock)
    if late is None:
        return spend(context, cause)
    return spend(context, replace(cause, group=late.group, rank=late.rank), of_job=True)


def _missing(context: Context, clock: ClockRule) -> frozenset[int]:
    """Return the ranks that the sentence of the clock names: those that the roll misses."""
    probe = context.probe if clock.name is ClockName.ASSEMBLY else None
    return frozenset(probe.missing) if probe is not None and probe.served else frozenset()


def _late(context: Context, clock: ClockRule) -> Member | None:
    """Return the first member of the first job of the clock that has not succeeded."""
    for group in context.plan.groups:
        if group.name in clock.groups and context.tally.of_group(group.name).succeeded < group.size:
            done = (context.tally.of_job(group.name, job).succeeded for job in range(group.replicas))
            job = next(job for job, ended in enumerate(done) if ended < group.completions)
            return group.member(job * group.completions)
    return None


def unsure(context: Context, clock: ClockRule) -> bool:
    """Return True if the pods have not been read past the cache since that clock ran out."""
    read = context.view.engine.live_read
    return read is None or any(read.at < end for each, end in running(context.plan, context.record) if each is clock)


def alerting(context: Context, passed: Iterable[ClockRule]) -> ClockRule | None:
    """Return the first passed clock that ends nothing, or asks another controller to end the run."""
    asks = bool(context.plan.watching.on_deadline)
    return next((clock for clock in passed if asks or _alerts_only(clock)), None)


def _alerts_only(clock: ClockRule) -> bool:
    """Return True for a clock that ends nothing: Restart after Terminating is a deletion by force, by the barrier."""
    forces = clock.name is ClockName.TERMINATING and clock.action is ClockAction.RESTART
    return clock.action is ClockAction.ALERT or forces


def sentence(context: Context, clock: ClockRule) -> str:
    """Return the sentence on what has not happened, and within which time."""
    within = f"within {clock.after:g} s"
    text = clock.sentence.format(
        within=within,
        roll=_roll(context, within),
        scheduled=context.tally.scheduled,
        done=context.tally.succeeded,
        size=context.plan.size,
        idle=of_idle(context),
        lingering=of_lingering(context),
    )
    ends = of_ends(context) if _names_ends(context, clock) else ""
    reported = context.view.progress_of(context.record.epoch) if clock.name is ClockName.PROGRESS else None
    if reported is not None:
        ends = hangs.last_step(reported)
    return f"{text}: {ends}" if ends else text


def _names_ends(context: Context, clock: ClockRule) -> bool:
    """Return True if the sentence names ended ranks: a roll call names those that it misses itself."""
    served = context.probe is not None and context.probe.served
    return clock.name is ClockName.TOTAL or (clock.name is ClockName.ASSEMBLY and not served)


def _roll(context: Context, within: str) -> str:
    probe = context.probe
    if probe is None or not probe.served:
        return f"the coordinator did not serve {within}"
    size = context.plan.expected
    missing = diagnose.listed(context, probe.missing, size - probe.arrived).sentence if probe.missing else ""
    return f"only {probe.arrived}/{size} ranks arrived {within}{missing and f'; missing {missing}'}"


ASKS: Final = "muster.dev/on-deadline"


def end(context: Context) -> tuple[EndRun, ...]:
    """Return the end of a watched run whose first passed clock ends it, if its own annotation asks for that.

    This is the only thing that Muster ever does to a watched run. It uses the object's own way: its field ``suspend``,
    or its deletion. The run has ended when its object reports that, and not when it was asked to.
    """
    plan, record = context.plan, context.record
    if record.finished or record.phase is Phase.SUSPENDED or not plan.watching.on_deadline or plan.lifecycle.deleting:
        return ()
    over = passed(context, running(plan, record))
    first = next((clock for clock in over if clock.action is ClockAction.FAIL), None)
    if first is None:
        return ()
    pods = () if plan.subject.plural else tuple(context.tally.alive.values())
    what = f"the annotation {ASKS} asks to {plan.watching.on_deadline} it"
    return (EndRun(plan.watching.on_deadline, first.reason, f"{sentence(context, first)}; {what}", pods),)
