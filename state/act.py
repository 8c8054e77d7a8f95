"""The second half of a decision: what must be done so that the world follows the record."""

from muster.state.actions import Action, ConfirmLoss
from muster.state.context import Context
from muster.state.plan import Engine
from muster.state.policies import barrier, queue, quota, retention, startup
from muster.state.record import Phase


def act(context: Context) -> tuple[Action, ...]:
    """The actions of this step, in order. Runs that Muster only observes have none."""
    record, tally = context.record, context.tally
    if context.plan.engine is Engine.OBSERVE:
        return ()
    if record.finished or record.phase is Phase.SUSPENDED:
        return (*barrier.end(context), *quota.close(context), *retention.expire(context))
    swept: tuple[Action, ...] = tuple(barrier.sweep(context))
    if record.phase is Phase.QUEUED:
        return (*swept, *quota.ask(context))
    if not barrier.clear(context) or record.phase is Phase.RESTARTING:
        return (*swept, *quota.report(context))
    gone = tuple(sorted(tally.gone)) if context.plan.sequential else ()  # of the others no rank is made again
    missing = gone or tally.pods < context.plan.together
    if context.launched and missing and context.view.engine.lost != record.epoch:
        return (*swept, ConfirmLoss(record.epoch, gone))
    if not queue.admits(context):
        return (*swept, *quota.report(context))
    return (*swept, *startup.launch(context), *quota.report(context))
