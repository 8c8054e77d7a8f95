"""The decision: what must happen next for one experiment.

Theory of operation
===================
``decide(plan, record, view, now)`` considers the whole state each time (level-triggered). It does not know which
event woke it, so a lost or doubled event cannot matter, and calling it twice in a row changes nothing the second
time. No call has to come before it: it lets the view take in the record (``View.remember``), which is all that it
changes. It has two halves: ``observe`` (phase, conditions, story, wake-up, verdicts) and ``act`` (what must be done).

The four inputs
    plan     what is wanted          (from the spec; immutable per generation)
    record   what is known to have happened, persisted in ``status`` under a resourceVersion
    view     what is seen now        (pods, the coordinator's answers; incremental, in memory, rebuilt after a crash)
    now      wall seconds            (the only clock there is)

The order of a step, which the daemon keeps
    1. decide
    2. if ``Decision.write``: persist the record, under the resourceVersion it was read with, or start over
    3. record the story lines as Events
    4. carry out the actions
    5. come back at ``wake_at``, or when the view changes

    Actions never run ahead of the record that explains them. A crash between any two of these is repaired by the
    next decision, because every action is derived from record and view again and is safe to repeat.

Invariants
    I1  Epochs only grow, and so do the attempts of a rank within an epoch. A new one is persisted before the first pod
        of the old one is deleted for its sake.
    I2  A verdict is reached only from pods of the record's own epoch and attempts. What older ones still do changes
        nothing but the barrier.
    I3  Nothing of an epoch is created while a pod of another epoch may run (barrier), nor before the live API has
        confirmed it.
    I4  One epoch ends at most once, so one failure, however many pods it takes down, is one restart.
    I5  Succeeded and Failed are forever. After them pods are only deleted, never created.
    I6  A clock is a persisted time plus a constant of the plan. No clock lives in a timer.
    I7  A restart that costs budget, and the end of the experiment, are decided on what the live API has reported since
        there was a reason for it: a late cache may hide that what a clock waits for has come, or what led to a failure.
    I8  A phase is followed only by the phases that ``state.vocabulary.transitions`` lists for it.

Policies are asked in one fixed order (``state.decide.judge``), and the first verdict wins: success, cancel and suspend,
the queue, requests, the clocks, failure, refusals. Success comes first because it is monotone: work that is done stays
done, whatever else is true. Only a job of a JobSet that has failed is judged before it, as JobSet's controller does.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from muster.state.decide.observe import OWN, WATCHED, Read, Step, observe
from muster.state.facts import admission, presence
from muster.state.facts.context import Context
from muster.state.policies import barrier, deadline, ending, queueing, refusal, restart, startup
from muster.state.policies.watched import following
from muster.state.view.view import View
from muster.state.vocabulary.actions import Action, ConfirmLoss, DeletePods, ProbeTarget
from muster.state.vocabulary.plan import Engine, Plan
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Phase, Record, StoryLine
from muster.state.vocabulary.transitions import IllegalTransition
from muster.state.vocabulary.wall_time import moved, not_in_the_future


def act(context: Context) -> tuple[Action, ...]:
    """Return the actions of this step, in order, for a run of our own."""
    record = context.record
    if record.finished or record.phase is Phase.SUSPENDED:
        then: Iterable[Action] = ending.expire(context) if record.finished else startup.prepare(context)
        return (*barrier.end(context), *queueing.close(context), *then, *queueing.confirm(context))
    if not context.settled:
        return ()  # the next decision sees which pods are of an older attempt
    swept: tuple[Action, ...] = tuple(barrier.sweep(context))
    if record.phase is Phase.QUEUED:
        return (*swept, *queueing.ask(context), *queueing.confirm(context))
    if not record.gathering or not presence.none_older(context):
        return (*swept, *queueing.report(context))
    leader = restart.lost(context)
    if context.plan.piecewise:
        started = startup.launch(context) if leader is None and admission.admits(context) else ()
        return (*swept, *_confirm_losses(context, leader), *started, *queueing.report(context))
    vanished, known = presence.vanished(context), context.view.engine
    lost: tuple[Action, ...] = ()
    if (ranks := _missing(context, leader, vanished)) is not None and known.lost != record.epoch:
        lost = (ConfirmLoss(record.epoch, ranks, vanished=_vanished(context)),)
        if context.launched or leader is not None or any(pod.uid not in known.altered for pod in vanished.values()):
            return (*swept, *lost)
    if not admission.admits(context) or known.lost == record.epoch:
        return (*swept, *queueing.report(context), *lost)
    return (*swept, *startup.launch(context), *queueing.report(context), *lost)


def _missing(context: Context, leader: int | None, vanished: Mapping[int, Pod]) -> tuple[int, ...] | None:
    """Return the ranks whose pods seem lost; empty: any of a complete gang; None: no pod seems lost.

    Before the gang is complete, those are pods that vanished and that of a coordinator that has served.
    """
    gone = sorted(context.tally.gone.keys() | vanished.keys()) if context.plan.sequential else ()
    if context.launched and (gone or context.tally.pods < context.plan.together):
        return tuple(gone)  # the members run all at once, and no rank is made again: any of them
    ranks = vanished.keys() if leader is None else {leader, *vanished}
    return tuple(sorted(ranks)) or None


def _confirm_losses(context: Context, leader: int | None) -> tuple[Action, ...]:
    """Confirm the pods that are missing from a gang whose members run again one by one.

    Those are pods that were seen to go, and pods that existed though this process has never seen them
    (``facts.presence``), such as that of a coordinator that has served (``leader``). Others are created: a pod of
    their name does not exist.
    """
    record, tally, known = context.record, context.tally, context.view.engine.lost_attempts
    missing = presence.gone(context) | presence.vanished(context).keys()
    if leader is not None:
        missing.add(leader)
    attempts = ((rank, tally.attempts.get(rank, 0)) for rank in sorted(missing))
    asked = tuple(each for each in attempts if (record.epoch, *each) not in known)
    return (ConfirmLoss(record.epoch, attempts=asked, vanished=_vanished(context)),) if asked else ()


def _vanished(context: Context) -> tuple[Pod, ...]:
    return tuple(pod for pod in context.view.engine.vanished.values() if pod.epoch == context.record.epoch)


class Decision(msgspec.Struct, frozen=True):
    """The decision of one step. ``story`` holds the new lines only."""

    record: Record
    write: bool
    actions: tuple[Action, ...] = ()
    wake_at: float | None = None
    story: tuple[StoryLine, ...] = ()
    probe: ProbeTarget | None = None
    read_first: bool = False
    """The view must hold the pods as the live API has them now, before anything else follows."""
    paid: bool = False
    """The write is charged to the experiment's budget (``View.writes``)."""
    held: bool = False
    """Actions wait until the one that the API server refused is tried again."""
    moved: float = 0.0
    """Seconds by which the persisted times were moved because the wall clock was set."""

    @property
    def deletes_newer_pods(self) -> bool:
        """True if pods of a newer epoch or attempt than the record's are deleted.

        Such a record may be stale. Writing it under its resourceVersion first shows that it is not, because a stale one
        conflicts.
        """
        record = self.record
        pods = (pod for action in self.actions if isinstance(action, DeletePods) for pod in action.pods)
        return any((pod.epoch, pod.attempt) > (record.epoch, record.attempt_of(pod.rank)) for pod in pods)


def decide(plan: Plan, record: Record | None, view: View, now: float, *, step: float = 0.0) -> Decision:
    """Decide; see the module's docstring for the theory. Raises ``IllegalTransition``, which is a bug of Muster.

    ``record`` is the record as it is persisted. ``step``: seconds by which the wall clock was set since it was
    (``state.vocabulary.wall_time``).
    """
    course = COURSES[plan.engine]
    if record is None:
        current = course.first(plan, view, now)
    else:
        view.remember(plan, record, now)
        current = not_in_the_future(plan, moved(record, step), now)
    context = Context.at(plan, current, view, now)
    if plan.lifecycle.deleting and course.clear_away is not None:
        return Decision(context.record, write=False, actions=course.clear_away(context))
    try:
        seen = observe(context, record, course.steps)
    except IllegalTransition as error:
        raise IllegalTransition(error.record, error.phase, plan.uid) from None
    if seen.read is Read.FIRST:
        return Decision(seen.record, write=False, read_first=True)
    actions, held = refusal.hold(seen, () if seen.read else course.act(seen))
    again = seen.record.gathering and not seen.settled
    return Decision(
        record=seen.status,
        write=seen.write,
        actions=actions,
        wake_at=now if again else seen.wake_at,
        story=seen.story,
        probe=seen.target,
        read_first=seen.read is not None,
        paid=seen.paid,
        held=held,
        moved=step,
    )


def _first(plan: Plan, _: View, now: float) -> Record:
    base = Record(
        generation=plan.generation, phase=Phase.PENDING, phase_at=now, restart_request=plan.lifecycle.restart_request
    )
    if plan.lifecycle.suspend:
        return replace(base, phase=Phase.SUSPENDED)
    if plan.queue is not None:
        return replace(base, phase=Phase.QUEUED, started_at=now)
    return replace(base, started_at=now, epoch_at=now)


def _clear_away(context: Context) -> tuple[Action, ...]:
    """Return the actions while the object is being deleted: nothing else is decided about it."""
    return (*ending.clear_away(context), *queueing.close(context), *queueing.confirm(context))


class Course(NamedTuple):
    """The way to decide on a run, by who makes its pods."""

    first: Callable[[Plan, View, float], Record]
    """The record of a run that has none."""
    steps: tuple[Step, ...]
    act: Callable[[Context], tuple[Action, ...]]
    clear_away: Callable[[Context], tuple[Action, ...]] | None = None
    """All actions while it is being deleted; None: it is observed as before."""


COURSES: Final = {
    Engine.NATIVE: Course(_first, OWN, act, _clear_away),
    Engine.WATCH: Course(following.first, WATCHED, deadline.end),
}
