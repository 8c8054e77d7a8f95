"""The verdict over a run of our own: the policies in their order, and the record that follows from their verdict."""

from collections.abc import Sequence

from msgspec.structs import replace

from muster.state.facts import admission, presence
from muster.state.facts.context import Context
from muster.state.facts.failure_cause import final
from muster.state.facts.sentences import repeated
from muster.state.policies import deadline, ending, queueing, refusal, request, restart
from muster.state.policies.failures import known, recurrence, restart_reasons
from muster.state.policies.verdicts import Fail, ReadFirst, Repair, Requeue, Restart, Resume, Succeed, Suspend, Verdict
from muster.state.summary import ends
from muster.state.vocabulary.record import Phase, Record
from muster.state.vocabulary.rules import ClockRule
from muster.state.vocabulary.transitions import enter, next_epoch


def judge(context: Context, passed: Sequence[ClockRule]) -> Verdict | None:
    """Ask the policies, in order; ``passed`` are the clocks that have run out."""
    suspended = context.record.phase is Phase.SUSPENDED
    if context.plan.success.after_failures and isinstance(first := _broken(context), Restart | Fail | ReadFirst):
        return first
    if not suspended and (done := ending.judge_success(context)):
        return done
    if wish := ending.judge_suspension(context):
        return wish
    if suspended:
        return None
    if evicted := queueing.judge(context):
        return evicted
    if asked := request.judge(context):
        return asked
    if over := deadline.judge(context, passed):
        return over
    return _broken(context) or refusal.judge(context)


def _broken(context: Context) -> Verdict | None:
    return restart.judge(context) if context.record.gathering else None


def apply(context: Context, verdict: Succeed | Fail | Restart | Repair | Requeue | Suspend | Resume) -> Record:
    """Return the record after a verdict."""
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
        case Fail():
            end = known.remembered(context, ends.worded(context, verdict))
            record = recurrence.ended(context, verdict.cause) if verdict.cause is not None else record
            cause, message = final(end.cause) or record.cause, end.message
            record = restart_reasons.failed_on(context.plan, record, end.cause) if end.cause is not None else record
            same = record.same_failure
            if verdict.cause is not None and same is not None and not same.again:  # else SameFailureAgain reports it
                message += repeated(replace(record, cause=verdict.cause))
            return enter(record, Phase.FAILED, now, finished_at=now, reason=end.reason, message=message, cause=cause)
        case Repair(repaired):
            return repaired
        case Restart():
            return restart.restarted(context, verdict)
        case Requeue():
            return restart.requeued(context, verdict)
        case Suspend():
            return next_epoch(record, Phase.SUSPENDED, now)
        case Resume():
            if admission.applies(context):
                return enter(record, Phase.QUEUED, now, started_at=now)
            # Until the barrier is clear no pod can start: the clock over nodes waits for it.
            return enter(
                record, Phase.PENDING, now, started_at=now, epoch_at=now if presence.none_older(context) else None
            )
