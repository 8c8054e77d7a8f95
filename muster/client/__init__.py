"""The SDK: submit, watch, wait for, explain and cancel experiments from a program.

``Client`` is asynchronous; ``BlockingClient`` (in ``muster.client.blocking``) has the same methods without ``await``.
"""

from muster.client.client import Client
from muster.client.errors import LogsGone, NoCluster, NoSuchExperiment, NoSuchRank, NotInstalled, Vanished, WaitTimeout
from muster.client.events import EventSummary
from muster.client.explanation import Explanation
from muster.client.logs.last_lines import LastLine
from muster.client.logs.lines import LogLine, LogNote
from muster.client.member import Member
from muster.client.snapshot import ExperimentChange, Outcome, Snapshot
from muster.client.until import Until

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
