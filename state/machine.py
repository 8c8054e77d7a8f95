"""The decision: what must happen next for one experiment.

Theory of operation
===================
``decide(plan, record, view, now)`` looks at the whole picture each time (level-triggered). It does not know which
event woke it, so a lost or doubled event cannot matter, and calling it twice in a row changes nothing the second
time.

The four inputs
    plan     what is wanted          (from the spec; immutable per generation)
    record   what is known to have happened, persisted in ``status`` under a resourceVersion
    view     what is seen now        (pods, the coordinator's answers; incremental, in memory, rebuilt after a crash)
    now      wall seconds            (the only clock there is)

The order of a step, which the engine keeps
    1. decide
    2. if ``Decision.write``: persist the record, under the resourceVersion it was read with, or start over
    3. tell the story lines as Events
    4. carry out the actions
    5. come back at ``wake_at``, or when the view changes

    Actions never run ahead of the record that explains them. A crash between any two of these is repaired by the
    next decision, because every action is derived from record and view again and is safe to repeat.

Invariants
    I1  Epochs only grow. A new epoch is persisted before the first pod of the old one is deleted for its sake.
    I2  A verdict is reached only from pods of the record's own epoch. What older epochs still do changes nothing
        but the barrier.
    I3  Nothing of an epoch is created while a pod of another epoch may run (barrier), nor before the live API has
        confirmed it.
    I4  One epoch ends at most once, so one failure, however many pods it takes down, is one restart.
    I5  Succeeded and Failed are for ever. After them pods are only deleted, never created.
    I6  A clock is a persisted time plus a constant of the plan. No clock lives in a timer.
    I7  Whatever costs a restart of the budget, or the experiment, is decided on what the live API has said since there
        was a reason for it: a late cache may hide that what a clock waits for has come, or what a failure came of.

Phases::

    (new) ──▶ Pending ──▶ Assembling ──▶ Running ──▶ Succeeded
      │          │             │            │
      │          ╰──────┬──────┴────────────╯───────▶ Failed
      ▼                 ▼
    Suspended ◀─▶   Restarting ──▶ Pending (next epoch)

Policies are asked in one fixed order, and the first verdict wins: success, cancel and suspend, the clocks, failure,
refusals. Success comes first because it is monotone: work that is done stays done, whatever else is true.
"""

import msgspec
from msgspec.structs import replace

from muster.state.actions import Action, ConfirmLoss, ProbeTarget
from muster.state.context import Case, Fail, ReadFirst, Restart, Resume, Succeed, Suspend, Verdict
from muster.state.history import append, tell
from muster.state.plan import Plan
from muster.state.policies import barrier, deadline, failure, rendezvous, startup, success, suspension
from muster.state.policies.rendezvous import Assembly
from muster.state.record import Line, Phase, Record
from muster.state.status_summary import due, paint
from muster.state.view import View


class Decision(msgspec.Struct, frozen=True):
    """What follows. ``story`` holds the new lines only."""

    record: Record
    write: bool
    actions: tuple[Action, ...] = ()
    wake_at: float | None = None
    story: tuple[Line, ...] = ()
    probe: ProbeTarget | None = None
    look: bool = False
    """Nothing follows before the view holds the pods as the live API has them now."""


def decide(plan: Plan, record: Record | None, view: View, now: float) -> Decision:
    """Decide; see the module's docstring for the theory."""
    case = Case(plan, record or _first(plan, now), view, now)
    if plan.deleting:
        return Decision(case.record, write=False)
    case = case.with_record(_await_ends(case))  # first, so that no clock runs out over pods that ended unseen
    assembly = _assess(case)
    if not case.record.finished:
        case = case.with_record(_progress(case, assembly))  # nor over what has come while nobody looked
        verdict = _judge(case)
        if isinstance(verdict, ReadFirst):
            return Decision(case.record, write=False, look=True)
        if verdict:
            case = case.with_record(_apply(case, verdict))
            assembly = _assess(case)
    case = case.with_record(_await_ends(case))
    after = paint(case, assembly)
    lines = tell(record, after, now)
    if lines:
        after = replace(after, story=append(after.story, lines))
    write, refresh_at = due(record, after, now)
    return Decision(
        record=replace(after, updated_at=now) if write else (record or after),
        write=write,
        actions=_act(case),
        wake_at=_wake(case, assembly, refresh_at),
        story=lines,
        probe=_probe(case),
    )


def _first(plan: Plan, now: float) -> Record:
    base = Record(generation=plan.generation, phase=Phase.PENDING, phase_at=now)
    if plan.suspend:
        return replace(base, phase=Phase.SUSPENDED)
    return replace(base, started_at=now, epoch_at=now)


def _judge(case: Case) -> Verdict | None:
    """Ask the policies, in order."""
    suspended = case.record.phase is Phase.SUSPENDED
    if not suspended and (done := success.judge(case)):
        return done
    if wish := suspension.judge(case):
        return wish
    if suspended:
        return None
    if over := deadline.judge(case):
        return over
    if case.record.phase is not Phase.RESTARTING and (broken := failure.judge(case)):
        return broken
    refusal = case.view.refusal
    return Fail(refusal.reason, refusal.message) if refusal and refusal.final else None


def _apply(case: Case, verdict: Succeed | Fail | Restart | Suspend | Resume) -> Record:
    """The record after a verdict."""
    record, now = case.record, case.now
    match verdict:
        case Succeed(message):
            return replace(
                record,
                phase=Phase.SUCCEEDED,
                phase_at=now,
                finished_at=now,
                reason="AllMembersSucceeded",
                message=message,
                ready=case.plan.size,
            )
        case Fail(reason, message, cause):
            return replace(
                record,
                phase=Phase.FAILED,
                phase_at=now,
                finished_at=now,
                reason=reason,
                message=message,
                cause=cause or record.cause,
            )
        case Restart(cause):
            restarts = record.restarts + (not cause.disruption)
            return replace(
                _next_epoch(record, Phase.RESTARTING, now),
                restarts=restarts,
                disruptions=record.disruptions + cause.disruption,
                cause=cause,
                resume_at=now + (0.0 if cause.disruption else case.plan.backoff.delay(restarts)),
            )
        case Suspend():
            return replace(_next_epoch(record, Phase.SUSPENDED, now), started_at=None)
        case Resume():
            return replace(record, phase=Phase.PENDING, phase_at=now, started_at=now, epoch_at=now)


def _next_epoch(record: Record, phase: Phase, now: float) -> Record:
    """The record at the start of the next epoch: everything that was true of the old one is forgotten."""
    return replace(
        record,
        phase=phase,
        phase_at=now,
        epoch=record.epoch + 1,
        epoch_at=None,
        scheduled_at=None,
        assembling_at=None,
        assembled_at=None,
        resume_at=None,
        roll=None,
    )


def _assess(case: Case) -> Assembly:
    """How the gang gathers, where there is one to gather."""
    return rendezvous.assess(case) if case.record.gathering else rendezvous.at_rest(case)


def _progress(case: Case, assembly: Assembly) -> Record:
    """Move forward what has moved forward."""
    record, tally, now = case.record, case.tally, case.now
    if record.phase is Phase.RESTARTING and barrier.clear(case) and now >= (record.resume_at or 0.0):
        return replace(record, phase=Phase.PENDING, phase_at=now, epoch_at=now, resume_at=None)
    if not record.gathering:
        return record
    if record.scheduled_at is None and tally.scheduled >= case.plan.together:
        record = replace(record, scheduled_at=now)
    if record.phase is Phase.PENDING and tally.started:
        record = replace(record, phase=Phase.ASSEMBLING, phase_at=now, assembling_at=now)
    if record.phase is Phase.ASSEMBLING and assembly.complete:
        record = replace(record, phase=Phase.RUNNING, phase_at=now, assembled_at=now)
    return record


def _await_ends(case: Case) -> Record:
    """Start or stop the terminating clock: pods that must go are there, or are not."""
    record = case.record
    over = record.finished or record.phase is Phase.SUSPENDED
    waiting = not barrier.clear(case) or (over and bool(case.tally.live))
    if waiting == (record.ending_at is not None):
        return record
    return replace(record, ending_at=case.now if waiting else None)


def _act(case: Case) -> tuple[Action, ...]:
    """What must be done so that the world follows the record."""
    record = case.record
    if record.finished or record.phase is Phase.SUSPENDED:
        return tuple(barrier.dismiss(case))
    swept: tuple[Action, ...] = tuple(barrier.sweep(case))
    if not barrier.clear(case) or record.phase is Phase.RESTARTING:
        return swept
    if case.launched and case.tally.pods < case.plan.together and case.view.lost != record.epoch:
        return (*swept, ConfirmLoss(record.epoch))
    return (*swept, *startup.launch(case))


def _wake(case: Case, assembly: Assembly, refresh_at: float | None) -> float | None:
    """The next instant at which time alone changes the decision."""
    record = case.record
    ends = deadline.ends(case.plan, record).values()
    times = [*ends, record.resume_at, refresh_at, assembly.look_again]
    return min((at for at in times if at is not None and at > case.now), default=None)


def _probe(case: Case) -> ProbeTarget | None:
    """The coordinator to ask, while there is one to ask."""
    coordinator = case.plan.coordinator
    if coordinator is None or coordinator.probe.passive:
        return None
    if not case.record.gathering:
        return None
    pod = case.tally.members.get(coordinator.rank)
    if pod is None or not pod.live or not pod.started or not pod.ip or pod.terminating:
        return None
    host = f"[{pod.ip}]" if ":" in pod.ip else pod.ip
    return ProbeTarget(
        case.record.epoch, pod.uid, f"{host}:{coordinator.port}", coordinator.probe.value, case.plan.size
    )
