"""The first half of a decision: what is true of the experiment now, and what has been decided about it.

``observe`` moves the record forward, asks the policies for a verdict, and computes what people see. It asks for no
change of the world, so it is the whole decision for runs whose pods another controller owns.
"""

import msgspec
from msgspec.structs import replace

from muster.state.actions import ProbeTarget
from muster.state.context import (
    Context,
    Fail,
    ReadFirst,
    Repair,
    Requeue,
    Restart,
    Resume,
    Succeed,
    Suspend,
    Verdict,
    Wait,
)
from muster.state.coordinator import ProbeKind
from muster.state.group import Role
from muster.state.observed import following, times
from muster.state.plan import Engine
from muster.state.policies import (
    barrier,
    blocked,
    completion,
    deadline,
    edits,
    obstacles,
    progress,
    refusal,
    rendezvous,
)
from muster.state.policies.ending import retention, success, suspension
from muster.state.policies.failures import avoidance, backoff, budget, disruptions, failure, jobs, repair, volume
from muster.state.policies.queueing import queue
from muster.state.policies.rendezvous import Assembly
from muster.state.record import Phase, Record, StoryLine
from muster.state.summary import restart_reasons
from muster.state.summary.history import append, new_lines
from muster.state.summary.status import due, summarize
from muster.state.transitions import enter, next_epoch


class Observation(msgspec.Struct, frozen=True):
    """What one look at an experiment gave.

    ``context`` holds the record with its new facts, ``record`` the same with its summary for people, as it is written
    to ``status``.
    """

    context: Context
    record: Record
    write: bool
    wake_at: float | None
    story: tuple[StoryLine, ...]
    probe: ProbeTarget | None
    paid: bool
    """The write costs one of the experiment's budget."""
    read_first: bool = False
    """A verdict waits for a live read that the API server refuses."""


def observe(context: Context, before: Record | None) -> Observation | None:
    """Observe the experiment; ``before`` is the record as persisted.

    None: a verdict depends on what a late cache may hide, so the pods must be read from the live API first.
    """
    now, read_first = context.now, False
    observed = context.plan.engine is Engine.OBSERVE
    decide_at = None
    if observed:
        followed = following.follow(context)
        context, decide_at = context.with_record(followed.record), followed.wake_at
    context = context.with_record(_await_ends(context))  # first, so that no clock runs out over pods that ended unseen
    assembly = _assess(context)
    if not context.record.finished:
        progressed = _progress(context, assembly)  # nor over progress that the record does not show
        if progressed is not context.record:
            context = context.with_record(progressed)
            assembly = _assess(context)
        verdict = None if observed else _judge(context)
        if isinstance(verdict, ReadFirst):
            if not refusal.reading_refused(context):
                return None
            read_first = True
        elif isinstance(verdict, Wait):
            decide_at = verdict.until
        elif verdict:
            context = context.with_record(_apply(context, verdict))
            context = context.with_record(blocked.track(context, obstacles.current(context)))
            assembly = _assess(context)
    context = context.with_record(_await_ends(context))
    context = context.with_record(retention.schedule(context))
    context = context.with_record(edits.track(context))
    context = context.with_record(volume.track(context))
    after = summarize(context, assembly)
    write, refresh_at, paid = due(before, after, context.view.writes, now)
    save_at = completion.save_at(context)
    if write or (save_at is not None and save_at <= now):
        after = replace(after, completed=completion.completed(context))
        write = write or before is None or after.completed != before.completed
    lines = new_lines(before, after, now, observed=observed) if write else ()
    if lines:
        after = replace(after, story=append(after.story, lines))
    return Observation(
        context=context,
        record=replace(after, updated_at=now) if write else (before or after),
        write=write,
        wake_at=_wake(context, assembly, refresh_at, decide_at, save_at),
        story=lines,
        probe=_probe(context),
        paid=paid,
        read_first=read_first,
    )


def _judge(context: Context) -> Verdict | None:
    """Ask the policies, in order.

    Of a JobSet a failed job is judged before the success of others (jobset_controller.go, reconcile).
    """
    suspended = context.record.phase is Phase.SUSPENDED
    if not suspended and context.plan.of_jobs and (first := _broken(context)) and not isinstance(first, Repair | Wait):
        return first
    if not suspended and (done := success.judge(context)):
        return done
    if wish := suspension.judge(context):
        return wish
    if suspended:
        return None
    if evicted := queue.judge(context):
        return evicted
    if over := deadline.judge(context):
        return over
    return _broken(context) or refusal.judge(context)


def _broken(context: Context) -> Verdict | None:
    """What follows a failure of the epoch that runs."""
    return None if context.record.phase in (Phase.RESTARTING, Phase.QUEUED) else failure.judge(context)


def _apply(context: Context, verdict: Succeed | Fail | Restart | Repair | Requeue | Suspend | Resume) -> Record:
    """The record after a verdict."""
    record, now = context.record, context.now
    match verdict:
        case Succeed(message, reason):
            return enter(
                record,
                Phase.SUCCEEDED,
                now,
                finished_at=now,
                reason=reason,
                message=message,
                ready=min(context.tally.ready + context.tally.succeeded, context.plan.size),
            )
        case Fail(reason, message, cause):
            return enter(
                record, Phase.FAILED, now, finished_at=now, reason=reason, message=message, cause=cause or record.cause
            )
        case Repair(repaired):
            return repaired
        case Restart(cause, counted, rule):
            plan, record = context.plan, budget.charged(context.plan, record, counted=counted, rule=rule, now=now)
            record = avoidance.failed_on(plan, record, cause)
            row = record.consecutive_disruptions + (not counted)
            number = budget.used(plan, record, now) if counted else row
            wait = (backoff.counted if counted else backoff.disrupted)(plan, number, record.epoch + 1)
            return replace(
                next_epoch(record, Phase.RESTARTING, now),
                gang_restarts=record.gang_restarts + 1,
                disruptions=record.disruptions + cause.disruption,
                consecutive_disruptions=row,
                without_progress=record.without_progress + (plan.no_progress_limit is not None),
                restart_reasons=restart_reasons.counted(record.restart_reasons, cause.reason),
                cause=cause,
                resume_at=now + wait,
                broken_at=now if record.broken_at is None else record.broken_at,
            )
        case Requeue(cause):
            if record.phase is Phase.RESTARTING:  # the epoch has not begun: nothing is disrupted
                return enter(record, Phase.QUEUED, now)
            return replace(
                next_epoch(record, Phase.QUEUED, now),
                disruptions=record.disruptions + 1,
                restart_reasons=restart_reasons.counted(record.restart_reasons, cause.reason),
                cause=cause,
                broken_at=now if record.broken_at is None else record.broken_at,
            )
        case Suspend():
            stopped = next_epoch(record, Phase.SUSPENDED, now)
            return replace(stopped, started_at=None, consecutive_disruptions=0, without_progress=0, broken_at=None)
        case Resume():
            if queue.applies(context):
                return enter(record, Phase.QUEUED, now, started_at=now)
            # Until the barrier is clear nothing can start: the clock over nodes waits for it.
            return enter(record, Phase.PENDING, now, started_at=now, epoch_at=now if barrier.clear(context) else None)


def _assess(context: Context) -> Assembly:
    """How far the gang has come together, where it is wanted at all."""
    return rendezvous.assess(context) if context.record.gathering else rendezvous.at_rest(context)


def _progress(context: Context, assembly: Assembly) -> Record:
    """Move the record forward: scheduled, assembling, running, or pending again after a restart."""
    record, tally, now = context.record, context.tally, context.now
    due = barrier.clear(context) and now >= (record.resume_at or 0.0)
    if context.plan.engine is Engine.OBSERVE:
        due = following.begins(context)
    if record.phase in (Phase.RESTARTING, Phase.QUEUED) and due and queue.admits(context):
        at = times.epoch_at(context) if context.plan.engine is Engine.OBSERVE else now
        return enter(record, Phase.PENDING, now, epoch_at=at, resume_at=None)
    if not record.gathering:
        return record
    if record.epoch_at is None and barrier.clear(context):  # it was resumed while old pods were ending
        record = replace(record, epoch_at=times.epoch_at(context) if context.plan.engine is Engine.OBSERVE else now)
    if record.scheduled_at is None and tally.scheduled >= context.plan.together:
        record = replace(record, scheduled_at=now)
    if record.phase is Phase.PENDING and tally.started:
        record = enter(record, Phase.ASSEMBLING, now, assembling_at=now)
    if record.phase is Phase.ASSEMBLING and assembly.complete:
        record = enter(record, Phase.RUNNING, now, assembled_at=now, broken_at=None)
    record = progress.note(context.with_record(record))
    if context.plan.of_jobs:
        record = jobs.started(context.with_record(record))
    progressed = disruptions.progress_at(context.with_record(record))
    if progressed is not None and now >= progressed:
        record = replace(record, consecutive_disruptions=0, without_progress=0)
    return blocked.track(context.with_record(record), assembly.obstacle)


def _await_ends(context: Context) -> Record:
    """Start the terminating clock where pods that must go are there, and stop it where they are gone."""
    record = context.record
    over = record.finished or record.phase is Phase.SUSPENDED
    waiting = bool(context.lingering) or (over and bool(context.tally.alive))
    if waiting == (record.ending_at is not None):
        return record
    return replace(record, ending_at=context.now if waiting else None)


def _wake(context: Context, assembly: Assembly, *others: float | None) -> float | None:
    """The next instant at which time alone changes the decision."""
    record = context.record
    ends = deadline.ends(context.plan, record).values()
    times = [*ends, record.resume_at, disruptions.progress_at(context), assembly.look_again, *others]
    times += [
        refusal.retry_at(context),
        repair.resume_at(context),
        jobs.wake_at(context),
        barrier.cut_at(context),
        barrier.give_up_at(context),
        retention.wake_at(context),
    ]
    return min((at for at in times if at is not None and at > context.now), default=None)


def _probe(context: Context) -> ProbeTarget | None:
    """The coordinator to ask, while it has a process that can be asked."""
    coordinator = context.plan.coordinator
    if coordinator is None or coordinator.probe.passive or not context.record.gathering:
        return None
    pod = context.tally.members.get(coordinator.rank)
    if pod is None or not pod.live or not pod.started or not pod.ip or pod.terminating:
        return None
    host = f"[{pod.ip}]" if ":" in pod.ip else pod.ip
    epoch, plan = context.record.epoch, context.plan
    leader = plan.group_of(plan.leader)
    submitter = plan.leader if leader and leader.role is Role.SUBMITTER else -1
    hands_over = submitter >= 0 or plan.submits_as
    return ProbeTarget(
        epoch=epoch,
        uid=pod.uid,
        address=f"{host}:{coordinator.port}",
        kind=coordinator.probe.value,
        expected=plan.size,
        ports=coordinator.ports,
        job=plan.submission(epoch) if hands_over else "",
        submitter=submitter,
        token=coordinator.token,
        path=coordinator.path,
        suspects=_suspects(context) if coordinator.probe is ProbeKind.RAY else (),
    )


def _suspects(context: Context) -> tuple[str, ...]:
    """IPs of members whose processes run and which the coordinator does not know: of those that a sentence may name."""
    members, probe = context.tally.members, context.probe
    missing = probe.missing if probe is not None and probe.serving else ()
    found = (members.get(rank) for rank in missing)
    return tuple(pod.ip for pod in found if pod is not None and pod.live and pod.started and not pod.terminating)
