"""Failure: the first member that fails ends the epoch for all.

One failure breaks every collective, so the survivors can only hang or crash after it. Therefore:

- The first failing container is the cause, and the whole burst that follows it is one restart (epochs make sure
  of that).
- What was done to a member (preemption, eviction, node loss, somebody deleting its pod) is a disruption, and costs
  nothing of the restart budget. Where both are seen, the disruption came first: victims of a drained node crash
  because of it.
- A failure is monotone: once seen it cannot be unseen, so a late cache cannot invent one. But it can hide what came
  before it, the disruption above all, so a failure is charged only on what the live API has said since. That a pod is
  *gone* is not monotone; it counts only after the live API has confirmed it (``view.lost``).
- SIGABRT (exit code 134) is how JAX's survivors die when a peer is lost, so among failures of the same second it
  comes last. And where nothing but SIGABRT is seen while a member's pod is deleted or missing, they died of that: a
  daemon that was away while a member was preempted finds its pod gone, and with it the word that it was a disruption.
"""

from muster.state.context import Case, Fail, ReadFirst, Restart
from muster.state.messages import cause_of, sentence
from muster.state.pod import Pod
from muster.state.record import Cause

SIGABRT_EXIT = 134


def judge(case: Case) -> Restart | Fail | ReadFirst | None:
    """Restart or fail because of the first failing member, if one failed."""
    cause = first_cause(case)
    if cause is None:
        return None
    return ReadFirst() if unsure(case, cause) else spend(case, cause)


def unsure(case: Case, cause: Cause) -> bool:
    """It would be charged, and nobody has looked past the cache since the first word of a failure."""
    if cause.disruption:
        return False
    look = case.view.look
    return look is None or look.version < min(pod.resource_version for pod in case.tally.failed.values())


def first_cause(case: Case) -> Cause | None:
    """The failure or disruption that this epoch has suffered first."""
    tally, epoch = case.tally, case.record.epoch
    disrupted = [pod for pod in tally.disrupted.values() if pod.terminating or pod.failed]
    if pod := min(disrupted, key=_order, default=None):
        return cause_of(pod, epoch, case.now)
    failed = [pod for pod in tally.failed.values() if not pod.terminating]
    bereaved = all(pod.exit is not None and pod.exit.code == SIGABRT_EXIT for pod in failed)
    if (pod := min(failed, key=_order, default=None)) and not bereaved:
        return cause_of(pod, epoch, case.now)
    if leaving := min((*tally.leaving.values(), *tally.failed.values()), key=_going, default=None):
        if not leaving.terminating and case.launched and tally.pods < case.plan.together:
            return _gone(case)
        return cause_of(leaving, epoch, case.now)
    return _gone(case)


def _gone(case: Case) -> Cause | None:
    """A member's pod that is gone, once the live API has said so (which it is asked for: see ``ConfirmLoss``)."""
    if not case.launched or case.view.lost != case.record.epoch:
        return None
    return Cause(case.record.epoch, "PodDeleted", "a member's pod is gone", case.now, disruption=True)


def spend(case: Case, cause: Cause) -> Restart | Fail:
    """Restart if the cause is a disruption or the budget allows one more; otherwise fail."""
    if cause.disruption or case.record.restarts < case.plan.limit:
        return Restart(cause)
    used = "no restarts allowed" if not case.plan.limit else f"all {case.plan.limit} restarts used"
    return Fail("BackoffLimitExceeded", f"{used}; {sentence(cause)}", cause)


def _going(pod: Pod) -> tuple[bool, tuple[float, bool, int]]:
    """Pods that somebody deletes before those that ended by themselves."""
    return not pod.terminating, _order(pod)


def _order(pod: Pod) -> tuple[float, bool, int]:
    at = pod.exit.finished_at if pod.exit and pod.exit.finished_at else float("inf")  # 0: the kubelet did not say
    return at, bool(pod.exit and pod.exit.code == SIGABRT_EXIT), pod.rank
