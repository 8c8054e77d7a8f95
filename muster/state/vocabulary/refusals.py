"""Reasons why the API server, or Muster itself, does not create or delete what an experiment needs: a closed list.

``muster.reconcilers.requests.refusals`` finds the reason of an answer. All else that depends on such reasons is
derived from this list: who can fix one, labels of metrics, the alert, and how a client reads a status that has one.

A reason is one of `NAMED`, or it is made of the kind of the object and of an ending: ``PodRejected``,
``WorkloadsForbidden``.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple


class RefusalReason(NamedTuple):
    """One row. ``platform``: those who run the cluster can fix it, otherwise the owner of the run can."""

    name: str
    platform: bool = False
    itself: bool = False
    """True if the reason is the state of the API server, whatever the request."""
    ours: bool = False
    """True if Muster refuses: the API server would carry the request out."""


NAMED: Final = (
    RefusalReason("WebhookDenied"),
    RefusalReason("WebhookFailed", platform=True),
    RefusalReason("PolicyDenied"),
    RefusalReason("PodSecurityViolated"),
    RefusalReason("QuotaExceeded"),
    RefusalReason("LimitRangeViolated"),
    RefusalReason("PriorityClassMissing"),
    RefusalReason("ServiceAccountMissing"),
    RefusalReason("RuntimeClassMissing"),
    RefusalReason("RightsMissing", platform=True),
    RefusalReason("NamespaceGone"),
    RefusalReason("CredentialsRejected", platform=True),
    RefusalReason("NameTaken"),
    RefusalReason("OtherController", platform=True, ours=True),
    RefusalReason("ApiServerBusy", platform=True, itself=True),
    RefusalReason("ApiServerSilent", platform=True, itself=True),
    RefusalReason("ApiServerErrors", platform=True, itself=True),
)
REJECTED: Final = RefusalReason("Rejected")
ALTERED: Final = RefusalReason("Altered", platform=True, ours=True)
FORBIDDEN: Final = RefusalReason("Forbidden", platform=True)
REFUSED: Final = RefusalReason("Refused", platform=True)
ENDINGS: Final = (REJECTED, ALTERED, FORBIDDEN, REFUSED)
"""Reasons that follow the name of a kind. The last two are about all objects of it, so they follow its plural."""
MADE: Final = ("Pod", "Service", "PersistentVolumeClaim")
"""The kinds that Muster creates for every experiment that has them."""

_BY_NAME: Final = {row.name: row for row in NAMED}


def of_kind(kind: str, ending: RefusalReason) -> str:
    """Return the reason for that kind: ``PodRejected``, ``PodsForbidden``, ``WorkloadPriorityClassesForbidden``."""
    if ending in (FORBIDDEN, REFUSED):
        kind += "es" if kind.endswith("s") else "s"
    return f"{kind}{ending.name}"


def of_made(*endings: RefusalReason) -> Iterator[str]:
    """Yield the reasons with these endings for the kinds of `MADE`."""
    return (of_kind(kind, ending) for kind in MADE for ending in endings)


def refusal_reason(reason: str) -> RefusalReason | None:
    """Return the row of a reason; None if it is no refusal."""
    ending = (row for row in ENDINGS if reason.endswith(row.name) and reason != row.name)
    return _BY_NAME.get(reason) or next(ending, None)
