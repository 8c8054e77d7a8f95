"""What the Event of a run says of the incident that explains it, and how that is read again.

The words hold nothing that differs between two daemons which see the same incident, or that changes while it lasts,
such as its cause and how many runs there are: an Event that another leader has written is not written again
(``render.event`` makes its name of its words).
"""

from typing import Final

from muster.state.facts.incidents.grouping import Key
from muster.state.facts.incidents.subjects import KINDS, NODES

REASON: Final = "Incident"
_OPENING: Final = "part of an incident: "
_TOGETHER: Final = "that failed together"
"""Stands for the name of several nodes, which is that of one of those that are left."""


def announcement(key: Key) -> str:
    """``part of an incident: node n7``: what the run shows of itself, and nothing of other namespaces."""
    return f"{_OPENING}{key.kind} {_TOGETHER if key.kind == NODES else key.subject}"


def announced(message: str) -> Key | None:
    """The subject that an Event names; None for other words."""
    if not message.startswith(_OPENING):
        return None
    what = message.removeprefix(_OPENING)
    kind = next((each for each in sorted(KINDS, key=len, reverse=True) if what.startswith(f"{each} ")), "")
    subject = what.removeprefix(f"{kind} ")
    return Key(kind, subject) if kind and subject else None
