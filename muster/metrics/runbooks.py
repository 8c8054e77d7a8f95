"""Which runbook is about a reason of the condition Stuck, and about a cause of the diagnosis.

A runbook has the name of its alert and is a file of docs/runbooks. The alerts take their reasons from here. The reasons
of containers are the kubelet's (kubernetes: pkg/kubelet/images, pkg/kubelet/kuberuntime), those of the scheduler stand
in the condition PodScheduled; all others are Muster's own.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from muster.metrics.closed_sets import REFUSALS_BY_NAME
from muster.state.facts.diagnosis.cause import MissingCause

SERVED: Final = "/runbooks"
"""Where musterd serves docs/runbooks."""

PUBLISHED: Final = f"http://musterd.muster-system.svc:8080{SERVED}"
"""The same from within the cluster, by the Service of deploy/musterd.yaml: the alerts lead there by default."""

OTHERS: Final = "MusterExperimentStuck"
"""The runbook of every reason that is not below."""

REASONS: Final[Mapping[str, tuple[str, ...]]] = {
    "MusterCoordinatorStuck": ("CoordinatorUnreachable",),
    "MusterCoordinatorNotServing": ("CoordinatorNotServing", "DashboardNotServing"),
    "MusterRankMissing": ("RanksMissing", "RankFailed", "ProcessCountMismatch"),
    "MusterHung": ("Hung",),
    "MusterAssemblyOverdue": ("StartingDeadlineExceeded", "AssemblyDeadlineExceeded"),
    "MusterImageNotPulled": (
        "ImagePullBackOff",
        "ErrImagePull",
        "ErrImageNeverPull",
        "InvalidImageName",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    ),
    "MusterUnschedulable": ("Unschedulable", "SchedulerError", "PendingDeadlineExceeded"),
    "MusterCreateRefused": (
        *REFUSALS_BY_NAME,
        "(Pod|Service|PersistentVolumeClaim)(Rejected|Altered|sForbidden|sRefused)",
    ),
    "MusterDisruptionLoop": ("DisruptionLoop",),
    "MusterCoordinatorGone": ("CoordinatorGone",),
    "MusterMemberNotReplaced": ("MemberFailed", "RestartedInPlace"),
    "MusterPodsMissing": ("PodsMissing",),
    "MusterStatusIsFalse": ("StatusIsFalse", "FailureReported"),
}
"""The reasons of each runbook, each a regular expression."""

_C = MissingCause
CAUSES: Final[Mapping[str, tuple[MissingCause, ...]]] = {
    "MusterCoordinatorStuck": (_C.COORDINATOR_FROZEN, _C.COORDINATOR_UNREACHABLE),
    "MusterCoordinatorNotServing": (_C.COORDINATOR_NOT_SERVING, _C.DASHBOARD_NOT_SERVING, _C.WRONG_PROTOCOL),
    "MusterRankMissing": (
        _C.OOM_KILLED, _C.CRASHED, _C.PROCESS_COUNT, _C.HEARTBEAT_LOST, _C.GIVEN_UP, _C.GHOST, _C.LEFT, _C.UNKNOWN,
        _C.NOT_ARRIVED, _C.RESTARTED_IN_PLACE,
    ),
    "MusterHung": (_C.HUNG,),
    "MusterImageNotPulled": (_C.IMAGE_PULL,),
    "MusterUnschedulable": (_C.UNSCHEDULABLE,),
    "MusterCreateRefused": (
        _C.REFUSED, _C.QUOTA_EXCEEDED, _C.ADMISSION_DENIED, _C.RIGHTS_MISSING, _C.NAME_TAKEN,
    ),
    OTHERS: (
        _C.NODE_NOT_READY, _C.CONTAINER_CANNOT_START, _C.INIT_CONTAINER_FAILS, _C.SIDECAR_FAILS, _C.ENDED,
    ),
}  # fmt: skip
"""The causes of each runbook. The others are a moment of a start or of an end, or follow from one of these."""

_BY_CAUSE: Final = {cause.value: name for name, causes in CAUSES.items() for cause in causes}


@lru_cache(maxsize=1024)
def of_reason(reason: str) -> str:
    """The runbook of a reason of the condition Stuck; empty without a reason."""
    if not reason:
        return ""
    found = (name for name, reasons in REASONS.items() if re.fullmatch("|".join(reasons), reason))
    return next(found, OTHERS)


def of_cause(cause: str) -> str:
    """The runbook of a cause of the diagnosis; empty where nothing is to be done about it."""
    return _BY_CAUSE.get(cause, "")
