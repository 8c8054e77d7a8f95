"""The second half of a decision: what must be done so that the world follows the record."""

from muster.state.actions import Action, ConfirmLoss
from muster.state.context import Context
from muster.state.observed import deadlines
from muster.state.plan import Engine
from muster.state.policies import barrier, startup
from muster.state.policies.ending import retention
from muster.state.policies.failures import absent, coordinator, jobs
from muster.state.policies.queueing import queue, quota
from muster.state.record import Phase


def act(context: Context) -> tuple[Action, ...]:
    """The actions of this step, in order. Runs that Muster only observes have none but the deadlines they ask for."""
    record, tally = context.record, context.tally
    if context.plan.engine is Engine.OBSERVE:
        return deadlines.end(context)
    if record.finished:
        return (*barrier.end(context), *quota.close(context), *retention.expire(context))
    if record.phase is Phase.SUSPENDED:
        return (*barrier.end(context), *quota.close(context), *startup.prepare(context))
    if not context.settled:
        return ()  # the next decision sees which pods are of an older attempt
    swept: tuple[Action, ...] = tuple(barrier.sweep(context))
    if record.phase is Phase.QUEUED:
        return (*swept, *quota.ask(context))
    if not barrier.clear(context) or record.phase is Phase.RESTARTING:
        return (*swept, *quota.report(context))
    swept += jobs.surplus(context)
    leader = coordinator.lost(context)
    if context.plan.piecewise:
        started = startup.launch(context) if leader is None and queue.admits(context) else ()
        return (*swept, *_confirm_losses(context, leader), *started, *quota.report(context))
    gone = tuple(sorted(tally.gone)) if context.plan.sequential else ()  # of the others no rank is made again
    missing = context.launched and bool(gone or tally.pods < context.plan.together)
    if not missing and leader is not None:
        missing, gone = True, (leader,)
    if missing and context.view.engine.lost != record.epoch:
        return (*swept, ConfirmLoss(record.epoch, gone))
    if not queue.admits(context):
        return (*swept, *quota.report(context))
    return (*swept, *startup.launch(context), *quota.report(context))


def _confirm_losses(context: Context, leader: int | None) -> tuple[Action, ...]:
    """Ask for the pods that are missing of a gang whose members run again one by one.

    Those are pods that were seen to go, and pods that this process has never seen though they were there
    (``failures.absent``), such as that of a coordinator that has served (``leader``). Others are created: a pod of
    their name does not exist.
    """
    record, tally, known = context.record, context.tally, context.view.engine.lost_attempts
    missing = tally.gone | absent.ranks(context) | ({leader} if leader is not None else set())
    attempts = ((rank, tally.attempts.get(rank, 0)) for rank in sorted(missing))
    asked = tuple(each for each in attempts if (record.epoch, *each) not in known)
    return (ConfirmLoss(record.epoch, attempts=asked),) if asked else ()
