"""The SDK: submit, watch, wait for, explain and cancel experiments from a program.

``Client`` is asynchronous; ``BlockingClient`` (in ``muster.client.blocking``) has the same methods without ``await``.

The names are imported when they are used: a program that needs one part of the SDK does not wait for the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muster.client.client import Client
    from muster.client.errors import (
        LogsGone,
        NoCluster,
        NoSuchExperiment,
        NoSuchRank,
        NotInstalled,
        Vanished,
        WaitTimeout,
    )
    from muster.client.explaining.explanation import Explanation
    from muster.client.logs.last_lines import LastLine
    from muster.client.logs.pod_log import LogLine, LogNote
    from muster.client.member import Member
    from muster.client.snapshot import EventSummary, ExperimentChange, Outcome, Snapshot
    from muster.client.waiting import Until

__all__ = [
    "Client",
    "EventSummary",
    "ExperimentChange",
    "Explanation",
    "LastLine",
    "LogLine",
    "LogNote",
    "LogsGone",
    "Member",
    "NoCluster",
    "NoSuchExperiment",
    "NoSuchRank",
    "NotInstalled",
    "Outcome",
    "Snapshot",
    "Until",
    "Vanished",
    "WaitTimeout",
]

_MODULES = {
    "client": ("Client",),
    "errors": ("LogsGone", "NoCluster", "NoSuchExperiment", "NoSuchRank", "NotInstalled", "Vanished", "WaitTimeout"),
    "explaining.explanation": ("Explanation",),
    "logs.last_lines": ("LastLine",),
    "logs.pod_log": ("LogLine", "LogNote"),
    "member": ("Member",),
    "snapshot": ("EventSummary", "ExperimentChange", "Outcome", "Snapshot"),
    "waiting": ("Until",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Return the name, from the module that defines it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
