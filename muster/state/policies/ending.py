"""The end, the suspension or the deletion of an experiment, and what becomes of its pods and its object."""

from msgspec.structs import replace

from muster.state.facts.context import Context
from muster.state.facts.sentences import sentence
from muster.state.policies import barrier
from muster.state.policies.verdicts import Fail, Resume, Succeed, Suspend
from muster.state.vocabulary.actions import DeletePods, DeleteSubject
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.record import Phase, Record
from muster.state.vocabulary.rules import Quantifier


def clear_away(context: Context) -> tuple[DeletePods, ...]:
    """Delete the pods of an Experiment that is being deleted, at once and with their own grace.

    The gang ends also if a finalizer of others holds the object: nothing would restart it, and no clock runs. The
    garbage collector deletes the same pods, but a default one needs 50 s for 1,000 of them.

    Ended pods stay while the object does, for their logs. If the object waits for its pods to go (foreground deletion)
    they are deleted too. If its pods are to stay (orphan), none is deleted.
    """
    plan, engine = context.plan, context.view.engine
    if plan.lifecycle.orphans:
        return ()
    wanted = [pod for pod in context.view.pods() if pod.live or plan.lifecycle.foreground]
    wanted += engine.vanished.values()
    pods = tuple(pod for pod in wanted if not pod.terminating and not engine.delete_accepted(pod, None))
    return (DeletePods(pods, None, "the Experiment is being deleted"),) if pods else ()


NOTICE = 3600.0
"""Seconds for which a finished experiment stays at least after a setting was changed, or all of a shorter setting."""


def schedule(context: Context) -> Record:
    """Return the record with the time of the deletion: after ``spec.ttlAfterFinished``, or as the installation asks.

    The time is persisted with the end itself (``Record.delete_at``), so every daemon acts at the same instant, and a
    step of the wall clock moves it with the clocks (``state.vocabulary.wall_time``). An edit of the ttl computes it
    again from the end.

    If the spec has no ttl, the setting ``retention`` of musterd holds. The seconds that it had are persisted, too
    (``Record.retention``): they show by which of both the object is deleted, and a setting that was changed is seen. An
    experiment that had ended before the setting reached it is given notice (``NOTICE``), so that nothing is deleted
    right behind a typing error.
    """
    at, kept = _scheduled(context)
    record = context.record
    return (
        record if (at, kept) == (record.delete_at, record.retention) else replace(record, delete_at=at, retention=kept)
    )


def _scheduled(context: Context) -> tuple[float | None, int | None]:
    """Return the time and the retention: set at the end, and again if the spec or the installation was changed."""
    record, ttl, retention = context.record, context.plan.lifecycle.ttl, context.plan.lifecycle.retention
    if record.finished_at is None or not record.finished:
        return None, None
    if ttl is not None:
        edited = record.generation != context.plan.generation or record.retention is not None
        return record.finished_at + ttl if record.delete_at is None or edited else record.delete_at, None
    if retention is None:
        return None, None
    if record.delete_at is not None and record.retention == retention:
        return record.delete_at, retention
    return max(record.finished_at + retention, context.now + min(retention, NOTICE)), retention


def expire(context: Context) -> tuple[DeleteSubject, ...]:
    """Delete the object of an experiment whose time is over; the status that holds its end is persisted by then."""
    at = wake_at(context)
    return (DeleteSubject(),) if at is not None and context.now >= at else ()


def wake_at(context: Context) -> float | None:
    """Return when the object is deleted, if nothing changes before.

    Its pods have ended then: until they have, a collector of logs may read them. Pods that do not end in time hold it
    back no longer than they hold back their own deletion (``barrier.give_up_at``).
    """
    at = context.record.delete_at
    if at is None or not context.record.finished or context.view.engine.removed:
        return None
    if not any(context.view.alive()):
        return at
    latest = barrier.give_up_at(context)
    return None if latest is None else max(at, latest)


BY_POLICY = "SuccessPolicyMet"
"""Reason of a success that did not need every member; the rest is stopped."""


def judge_success(context: Context) -> Succeed | None:
    """Succeed once the jobs that the success rule names have ended with exit code 0 in this epoch.

    A member that succeeds early is done in its epoch, whatever becomes of its pod (``state.policies.completion``). If
    another one fails, the whole gang runs again, because a collective program's result belongs to all of its ranks. A
    gang without members has nothing left to do.
    """
    plan, rule = context.plan, context.plan.success
    targets = plan.targets
    size = sum(group.size for group in targets)
    if rule.quantifier is Quantifier.ANY and size:
        done = next((name for group in targets if (name := _completed_job(context, group))), None)
        return Succeed(f"job {done} succeeded", BY_POLICY) if done else None
    if size and not context.tally.succeeded:
        return None
    if sum(context.tally.of_group(group.name).succeeded for group in targets) < size:
        return None
    if not size:
        return Succeed("no members were asked for")
    which = f" of {', '.join(group.name for group in targets)}" if rule.groups else ""
    message = f"all {size} members{which} succeeded" if size > 1 else f"the member{which} succeeded"
    return Succeed(message, BY_POLICY) if rule.groups else Succeed(message)


def _completed_job(context: Context, group: Group) -> str | None:
    """Return the first job of the group whose members have all succeeded.

    It reads one count per job, only for ``Any`` and only if enough members for a job have succeeded.
    """
    if context.tally.of_group(group.name).succeeded < group.completions:
        return None
    counts = (context.tally.of_job(group.name, job).succeeded for job in range(group.replicas))
    done = (job for job, succeeded in enumerate(counts) if succeeded >= group.completions)
    return next((f"{group.name}-{job}" for job in done), None)


def judge_suspension(context: Context) -> Suspend | Resume | Fail | None:
    """Follow ``spec.suspend``, which deletes the gang and keeps the experiment, and ``spec.cancel``, which ends it.

    A resumed experiment starts again: a new epoch, a new total clock, no restart counted.
    """
    if context.plan.lifecycle.cancel:
        return Fail(
            "Cancelled",
            f"cancelled by {context.plan.lifecycle.cancelled_by or 'spec.cancel'}{_too_early(context.record)}",
        )
    suspended = context.record.phase is Phase.SUSPENDED
    if context.plan.lifecycle.suspend and not suspended:
        return Suspend()
    if suspended and not context.plan.lifecycle.suspend:
        return Resume()
    return None


def _too_early(record: Record) -> str:
    """Return `` before epoch 1 began; rank 2 …``: the announced restart did not begin, and its cause."""
    if record.phase is not Phase.RESTARTING or record.cause is None:
        return ""
    return f" before epoch {record.epoch} began; {sentence(record.cause)}"
