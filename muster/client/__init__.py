"""The SDK: submit, watch, wait for, explain and cancel experiments from a program.

``Client`` is asynchronous, ``BlockingClient`` (in ``muster.client.blocking``) is the same for plain code.
"""

from muster.client.client import Client, Seen
from muster.client.errors import LogsGone, NoCluster, NoSuchExperiment, NoSuchRank, NotInstalled, Vanished, WaitTimeout
from muster.client.explanation import Explanation, Happening
from muster.client.member import Member
from muster.client.snapshot import Outcome, Snapshot
from muster.client.until import Until

__all__ = [
    "Client",
    "Explanation",
    "Happening",
    "LogsGone",
    "Member",
    "NoCluster",
    "NoSuchExperiment",
    "NoSuchRank",
    "NotInstalled",
    "Outcome",
    "Seen",
    "Snapshot",
    "Until",
    "Vanished",
    "WaitTimeout",
]
