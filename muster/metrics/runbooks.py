"""The runbook of each reason of the condition Stuck, and of each cause of the diagnosis.

A runbook has the name of its alert and is a heading of a page of docs/runbooks. The alerts take their page and their
reasons from here. The reasons of containers are the kubelet's (kubernetes: pkg/kubelet/images,
pkg/kubelet/kuberuntime), those of the scheduler are in the condition PodScheduled; all others are Muster's own.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from muster.state.facts.causes.cause import MissingCause
from muster.state.facts.causes.table import BY_NAME, CAUSES
from muster.state.view.stage import Stage
from muster.state.vocabulary.refusals import ENDINGS, MADE, NAMED

SERVED: Final = "/runbooks"
"""Path at which musterd serves docs/runbooks."""

PUBLISHED: Final = f"http://musterd.muster-system.svc:8080{SERVED}"
"""Address of that path within the cluster, by the Service of deploy/musterd.yaml: the alerts lead there by default."""

SITE: Final = r"https?://[^\s\"'<>]+"
"""The form of another place."""

PAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "ranks": ("MusterRankMissing", "MusterAssemblyOverdue", "MusterHung", "MusterExperimentStuck"),
    "coordinator": ("MusterCoordinatorStuck", "MusterCoordinatorNotServing"),
    "refusals": ("MusterImageNotPulled", "MusterUnschedulable", "MusterCreateRefused"),
    "restarts": ("MusterRestartStorm", "MusterSameFailureAgain", "MusterSameFailureEnded", "MusterDisruptionLoop"),
    "deadlines": ("MusterDeadlineNear", "MusterDeadlinePassed"),
    "controllers": ("MusterCoordinatorGone", "MusterMemberNotReplaced", "MusterPodsMissing", "MusterStatusIsFalse",
                    "MusterObservedRunStuck"),
    "shared-causes": ("MusterIncident", "MusterIncidentLasts", "MusterRunExplained", "MusterNodeSuspect"),
    "wasted-time": ("MusterGoodputBurnsFast", "MusterGoodputBurnsSlowly"),
    "musterd-away": ("MusterDaemonDown", "MusterScrapesFail", "MusterReplicaMissing", "MusterNoLeader",
                     "MusterLeaderChanges"),
    "musterd-view": ("MusterWatchStale", "MusterStandbyStale", "MusterRightsMissing", "MusterScrapeCapReached",
                     "MusterInternalErrors"),
}  # fmt: skip
"""The pages of docs/runbooks, each with the alerts that are its headings."""

PLACES: Final = {alert: f"{page}.md#{alert.lower()}" for page, alerts in PAGES.items() for alert in alerts}
"""The page and the anchor of the runbook of each alert."""

OTHERS: Final = "MusterExperimentStuck"
"""The runbook of every reason that is not below."""


def _is_about(cause: MissingCause, runbook: str) -> bool:
    """Return whether its Stuck has a reason of kubelet or scheduler, and that is the runbook about it."""
    return cause.runbook == runbook and not {Stage.CANNOT_START, Stage.UNSCHEDULABLE}.isdisjoint(cause.stages)


_OURS: Final[Mapping[str, tuple[str, ...]]] = {
    "MusterCoordinatorStuck": ("CoordinatorUnreachable",),
    "MusterCoordinatorNotServing": ("CoordinatorNotServing", "DashboardNotServing"),
    "MusterRankMissing": ("RanksMissing", "RankFailed", "ProcessCountMismatch"),
    "MusterHung": ("Hung", "CollectiveStuck"),
    "MusterAssemblyOverdue": ("StartingDeadlineExceeded", "AssemblyDeadlineExceeded"),
    "MusterImageNotPulled": (),
    "MusterUnschedulable": ("Unschedulable", "SchedulerError", "PendingDeadlineExceeded"),
    "MusterCreateRefused": (
        *(row.name for row in NAMED),
        f"({'|'.join(MADE)})s?({'|'.join(row.name for row in ENDINGS)})",
    ),
    "MusterDisruptionLoop": ("DisruptionLoop",),
    "MusterSameFailureAgain": ("SameFailureAgain",),
    "MusterCoordinatorGone": ("CoordinatorGone",),
    "MusterMemberNotReplaced": ("MemberFailed", "RestartedInPlace"),
    "MusterPodsMissing": ("PodsMissing",),
    "MusterStatusIsFalse": ("StatusIsFalse", "FailureReported"),
}
"""Reasons that Muster or the scheduler names, and none of a container."""

REASONS: Final[Mapping[str, tuple[str, ...]]] = {
    name: (*named, *(reason for cause in CAUSES if _is_about(cause, name) for reason in cause.reasons))
    for name, named in _OURS.items()
}
"""The reasons of each runbook, each a regular expression."""


@lru_cache(maxsize=1024)
def of_reason(reason: str) -> str:
    """Return the runbook of a reason of the condition Stuck; empty without a reason."""
    if not reason:
        return ""
    found = (name for name, reasons in REASONS.items() if re.fullmatch("|".join(reasons), reason))
    return next(found, OTHERS)


def of_cause(cause: str) -> str:
    """Return the runbook of a cause of the diagnosis; empty where nothing is to be done about it."""
    return BY_NAME[cause].runbook if cause in BY_NAME else ""
