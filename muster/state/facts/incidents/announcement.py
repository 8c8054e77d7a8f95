"""The Event of a run about the incident that explains it, in words and for programs.

The words hold nothing that differs between two daemons which see the same incident, or that changes while it lasts,
such as its cause and how many runs there are: an Event that another leader has written is not written again
(``render.event`` makes its name from its words). The subject of the incident is a field of the Event.
"""

from typing import Final

from muster.state.facts.incidents.grouping import Key
from muster.state.facts.incidents.subjects import KINDS, NODES
from muster.state.vocabulary.record import StoryLine

REASON: Final = "Incident"
_TOGETHER: Final = "that failed together"
"""The words in place of the name of several nodes, which is that of one of the nodes left."""
_BETWEEN: Final = "="


def announcement(key: Key) -> str:
    """Return ``part of an incident: node n7``: facts of the run itself, and none of other namespaces."""
    return f"part of an incident: {key.kind} {_subject(key)}"


def line(key: Key, at: float, epoch: int) -> StoryLine:
    """Return the line of the story of a run that became a part of the incident at that time."""
    return StoryLine(at, epoch, REASON, announcement(key), warning=True, about=f"{key.kind}{_BETWEEN}{_subject(key)}")


def announced(about: str) -> Key | None:
    """Return the subject that an Event is about; None if it names none."""
    kind, _, subject = about.partition(_BETWEEN)
    return Key(kind, subject) if kind in KINDS and subject else None


def _subject(key: Key) -> str:
    return _TOGETHER if key.kind == NODES else key.subject
