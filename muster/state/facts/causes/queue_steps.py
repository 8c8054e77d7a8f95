"""What a person does about a queue that never admits by itself: the table of docs/queues.md, by the reason of Stuck."""

from collections.abc import Mapping
from typing import Final

from muster.state.facts import admission
from muster.state.facts.context import Context
from muster.state.vocabulary.record import ConditionType

_RESTORE: Final = "correct the queue label, or create the LocalQueue or the ClusterQueue that the message names"

STEPS: Final[Mapping[str, str]] = {
    "ExceedsMaxQuota": "ask for less, or raise the quota of the ClusterQueue",
    "Misconfigured": _RESTORE,
    "Inadmissible": _RESTORE,
    admission.DEACTIVATED: "set spec.active of its Workload to true: kubectl get workloads -n NAMESPACE",
    admission.SILENT: "see whether Kueue's controller runs, and read its log",
    admission.UNAVAILABLE: "do what the message says: Kueue, the flag --kueue of musterd or a right is missing",
}
"""By reason; a reason that ends in its cause (DeactivatedDueTo…) has the step of its beginning."""


def step_of(reason: str) -> str:
    """The next step; empty where Kueue itself goes on."""
    return STEPS.get(reason.partition("DueTo")[0], "")


def of_queue(context: Context) -> str:
    """The next step about the queue of an experiment that is stuck in it; empty for any other."""
    stuck = context.record.condition(ConditionType.STUCK)
    return step_of(stuck.reason) if stuck is not None and stuck.status else ""
