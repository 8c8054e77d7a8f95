"""Failure: the first member that fails decides what happens to the epoch, by the plan's failure rules.

- The first failing container is the cause, and the whole burst that follows it is one restart, because a failure
  counts only in its own epoch.
- What was done to a member (preemption, eviction, node loss, a deleted pod) is a disruption. Where both are seen, the
  disruption came first: the processes of a drained node crash because of it.
- A failure is monotone: once seen it cannot be unseen, so a late cache cannot invent one. But it can hide what came
  before it, above all the disruption, so a failure is charged only on what the live API has said since. That a pod is
  *gone* is not monotone; it counts only after the live API has confirmed it (``engine.lost``).
- Survivors (``state.policies.culprit``) are a consequence: they come after every other failure. Where only they are
  seen while a member's pod is deleted or missing, the missing pod is the cause: a daemon that was away while a member
  was preempted finds its pod gone, and with it the condition that it was a disruption. Else the cause is the rank that
  they or the coordinator name, if they name one within a few seconds.
"""

from muster.state.context import Context, Fail, ReadFirst, Restart, Wait
from muster.state.pod import Pod
from muster.state.policies import culprit, disruptions
from muster.state.record import Cause
from muster.state.rules import FailureAction, FailureRule
from muster.state.summary.messages import cause_of, sentence


def judge(context: Context) -> Restart | Fail | ReadFirst | Wait | None:
    """Restart or fail because of the first failing member, if one failed."""
    cause = first_cause(context)
    if cause is None:
        return None
    if unsure(context, cause):
        return ReadFirst()
    until = culprit.awaited_until(context, cause)
    return spend(context, cause) if until is None else Wait(until)


def unsure(context: Context, cause: Cause) -> bool:
    """The failure would be charged, and the pods have not been read past the cache since it was first seen."""
    if cause.disruption:
        return False
    read = context.view.engine.live_read
    return read is None or read.version < min(pod.resource_version for pod in context.tally.failed.values())


def first_cause(context: Context) -> Cause | None:
    """The failure or disruption that this epoch has suffered first."""
    tally, epoch = context.tally, context.record.epoch

    def order(pod: Pod) -> tuple[bool, float, int]:
        at = pod.exit.finished_at if pod.exit and pod.exit.finished_at else float("inf")  # 0: the kubelet did not say
        return culprit.is_survivor(context.plan, pod), at, pod.rank

    disrupted = [pod for pod in tally.disrupted.values() if pod.terminating or pod.failed]
    if pod := min(disrupted, key=order, default=None):
        return cause_of(pod, epoch, context.now)
    failed = [pod for pod in tally.failed.values() if not pod.terminating]
    if (pod := min(failed, key=order, default=None)) and not culprit.is_survivor(context.plan, pod):
        return cause_of(pod, epoch, context.now)
    candidates = (*tally.leaving.values(), *tally.failed.values())
    if pod := min(candidates, key=lambda pod: (not pod.terminating, order(pod)), default=None):  # deleted pods first
        if not pod.terminating and context.launched and tally.pods < context.plan.together:
            return _gone(context)
        return (not pod.terminating and culprit.cause(context)) or cause_of(pod, epoch, context.now)
    return _gone(context)


def _gone(context: Context) -> Cause | None:
    """A member's pod that is gone, once the live API has confirmed it (see ``ConfirmLoss``)."""
    if not context.launched or context.view.engine.lost != context.record.epoch:
        return None
    return Cause(context.record.epoch, "PodDeleted", "a member's pod is gone", context.now, disruption=True)


def spend(context: Context, cause: Cause) -> Restart | Fail:
    """What the plan's rules say of that cause. A counted restart needs one unit of the budget.

    One that is not counted needs the row of disruptions to be shorter than the plan allows.
    """
    rule = _rule_for(context, cause)
    if rule.action is FailureAction.FAIL_EXPERIMENT:
        return Fail("FailureRule", f"a failure rule ends the experiment; {sentence(cause)}", cause)
    if not rule.counted:
        if disruptions.exhausted(context.plan, context.record):
            allowed = f"no more than {context.plan.max_disruptions} disruptions in a row are allowed"
            return Fail("MaxDisruptionsExceeded", f"{allowed}; {sentence(cause)}", cause)
        return Restart(cause, counted=False)
    if context.record.restarts < context.plan.limit:
        return Restart(cause, counted=True)
    return Fail("BackoffLimitExceeded", f"{_used(context.plan.limit)}; {sentence(cause)}", cause)


def _rule_for(context: Context, cause: Cause) -> FailureRule:
    """The first matching rule; without one, a counted restart of the gang."""
    for rule in context.plan.failures:
        if rule.matches(
            disruption=cause.disruption,
            group=cause.group,
            exit_code=cause.exit_code,
            reason=cause.reason,
            message=cause.message,
        ):
            return rule
    return FailureRule(FailureAction.RESTART_GANG)


def _used(limit: int) -> str:
    if not limit:
        return "no restarts allowed"
    return "the one restart is used" if limit == 1 else f"all {limit} restarts are used"
