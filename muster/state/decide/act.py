"""The second half of a decision: what must be done so that the world follows the record."""

from collections.abc import Mapping

from muster.state.facts import admission, older_pods, presence
from muster.state.facts.context import Context
from muster.state.policies import barrier, lost_coordinator, startup
from muster.state.policies.ending import retention
from muster.state.policies.queueing import quota
from muster.state.vocabulary.actions import Action, ConfirmLoss
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Phase


def act(context: Context) -> tuple[Action, ...]:
    """Return the actions of this step, in order, for a run of our own."""
    record = context.record
    at_rest = not record.gathering
    if at_rest and record.finished:
        ends = (*barrier.end(context), *quota.close(context), *retention.expire(context))
        return (*ends, *quota.confirm(context))
    if at_rest and record.phase is Phase.SUSPENDED:
        return (*barrier.end(context), *quota.close(context), *startup.prepare(context), *quota.confirm(context))
    if not context.settled:
        return ()  # the next decision sees which pods are of an older attempt
    swept: tuple[Action, ...] = tuple(barrier.sweep(context))
    if at_rest and record.phase is Phase.QUEUED:
        return (*swept, *quota.ask(context), *quota.confirm(context))
    if at_rest or not older_pods.clear(context):
        return (*swept, *quota.report(context))
    leader = lost_coordinator.lost(context)
    if context.plan.piecewise:
        started = startup.launch(context) if leader is None and admission.admits(context) else ()
        return (*swept, *_confirm_losses(context, leader), *started, *quota.report(context))
    vanished, known = presence.vanished(context), context.view.engine
    lost: tuple[Action, ...] = ()
    if (ranks := _missing(context, leader, vanished)) is not None and known.lost != record.epoch:
        lost = (ConfirmLoss(record.epoch, ranks, vanished=_vanished(context)),)
        if context.launched or leader is not None or any(pod.uid not in known.altered for pod in vanished.values()):
            return (*swept, *lost)
    if not admission.admits(context) or known.lost == record.epoch:
        return (*swept, *quota.report(context), *lost)
    return (*swept, *startup.launch(context), *quota.report(context), *lost)


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
