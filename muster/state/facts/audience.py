"""The audience of a reason of the condition Stuck: the people who can fix it.

A *researcher* can fix the program, the manifest, or a request beyond the namespace's limits. The *platform* can fix
a node, the network, the API server, a webhook, a queue or another controller. Many runs with one reason are an
incident, which is the platform's if they are of several namespaces (``incidents``).

The audience is not who is charged: a used-up quota is no failure of the run, and the run's owner asks for less.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from muster.state.facts.causes.cause import MissingCause
from muster.state.facts.causes.table import CAUSES, Causes
from muster.state.vocabulary.refusals import ENDINGS, NAMED, of_made, refusal_reason


class Audience(StrEnum):
    """The people who can fix a reason."""

    PLATFORM = "platform"
    RESEARCHER = "researcher"


_RESEARCHERS: Final = (
    *("CreateContainerConfigError", "CreateContainerError", "RanksEnded", "RankFailed"),
    *("FailureReported", "MemberFailed", "RequestUnmet", "SameFailureAgain"),
    *("PendingDeadlineExceeded", "StartingDeadlineExceeded", "AssemblyDeadlineExceeded"),
    *("RunDeadlineExceeded", "ProgressDeadlineExceeded", "DeadlineExceeded"),
    *("ExceedsMaxQuota", "Deactivated"),
    *(row.name for row in NAMED if not row.platform),
    *of_made(*(row for row in ENDINGS if not row.platform)),
)
_PLATFORM: Final = (
    *("CoordinatorGone", "PodsMissing", "StatusIsFalse", "DisruptionLoop", "TerminatingDeadlineExceeded"),
    *("PartlyQueued", "QueuedTwice", "QueueUnavailable", "QueueSilent"),
    *("Misconfigured", "Inadmissible", "FlavorMissing"),
    "SchedulerError",
    *(row.name for row in NAMED if row.platform),
    *of_made(*(row for row in ENDINGS if row.platform)),
)
"""Reasons of no cause, or of causes with several reasons."""


def of_cause(cause: MissingCause) -> Audience:
    """Return the people who can fix that cause."""
    if cause is Causes.UNSCHEDULABLE:  # the owner can ask for less; if nodes are lost, many runs have it
        return Audience.RESEARCHER
    return Audience.PLATFORM if cause.charge is not None and cause.charge.platform else Audience.RESEARCHER


CATALOGUE: Final[Mapping[str, Audience]] = {
    **{reason: of_cause(cause) for cause in CAUSES for reason in (cause.stuck_as, *cause.reasons) if reason},
    Causes.UNSCHEDULABLE.value: of_cause(Causes.UNSCHEDULABLE),
    **dict.fromkeys(_RESEARCHERS, Audience.RESEARCHER),
    **dict.fromkeys(_PLATFORM, Audience.PLATFORM),
}
"""Every reason that Muster names, and those of kubelet and scheduler that it knows."""

if both := set(_RESEARCHERS) & set(_PLATFORM):
    raise ValueError(f"for two audiences: {both}")


def of_reason(reason: str) -> Audience:
    """Return the people who can fix that reason. A reason in no list is a kubelet's, about a container: the owner's."""
    if (refusal := refusal_reason(reason)) is not None:  # of a kind that is not in the catalogue, too
        return Audience.PLATFORM if refusal.platform else Audience.RESEARCHER
    return CATALOGUE.get(reason, Audience.RESEARCHER)
