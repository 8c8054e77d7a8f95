"""Which alert is about which reason of the condition Stuck. Every other reason is MusterExperimentStuck's.

The reasons of containers are the kubelet's (kubernetes: pkg/kubelet/images, pkg/kubelet/kuberuntime), those of the
scheduler stand in the condition PodScheduled; all others are Muster's own.
"""

from muster.metrics.closed_sets import REFUSALS_BY_NAME

UNREACHABLE = ("CoordinatorUnreachable",)
NOT_SERVING = ("CoordinatorNotServing",)
RANKS = ("RanksMissing", "RankFailed", "ProcessCountMismatch")
OVERDUE = ("StartingDeadlineExceeded", "AssemblyDeadlineExceeded")
IMAGE = (
    "ImagePullBackOff",
    "ErrImagePull",
    "ErrImageNeverPull",
    "InvalidImageName",
    "ImageInspectError",
    "RegistryUnavailable",
    "SignatureValidationFailed",
)
SCHEDULING = ("Unschedulable", "SchedulerError", "PendingDeadlineExceeded")
REFUSED = (*REFUSALS_BY_NAME, "(Pod|Service|PersistentVolumeClaim)(Rejected|Altered|sForbidden|sRefused)")
LOOP = ("DisruptionLoop",)

CLAIMED = (*UNREACHABLE, *NOT_SERVING, *RANKS, *OVERDUE, *IMAGE, *SCHEDULING, *REFUSED, *LOOP)


def stuck(reasons: tuple[str, ...], *, others: bool = False) -> str:
    """The experiments that are stuck for one of the reasons, or for any other. Each is one regular expression."""
    operator = "!~" if others else "=~"
    pattern = "|".join(reasons)
    return (
        f'max by (namespace, experiment, reason) (muster_experiment_stuck_reason{{reason{operator}"{pattern}"}}) == 1'
    )
