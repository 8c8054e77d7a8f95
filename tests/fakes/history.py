"""What an API server in memory remembers: every change, and from it each state there ever was.

Objects are never changed in place, only replaced; so a change holds the very objects, and an old state costs a replay
of the changes and no copy.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import msgspec

Object = dict[str, Any]
Chosen = Callable[[Object], bool]


@dataclass(slots=True)
class Change:
    """One step of one object. ``after`` is its last state where it was deleted; ``at`` is in wall seconds."""

    version: int
    kind: str
    path: str
    before: Object | None
    after: Object
    at: float
    _body: bytes = b""
    _lines: dict[str, bytes] = field(default_factory=dict)

    @property
    def resource(self) -> str:
        """The plural kind: ``pods``."""
        return self.path.split("/")[-2]

    @property
    def body(self) -> bytes:
        """The object as it is sent."""
        if not self._body:
            self._body = encode(self.after)
        return self._body

    def within(self, collection: str) -> bool:
        """Whether the object lives in that collection, of one namespace or of all."""
        return collection in collections_of(self.path)

    def line(self, chosen: Chosen) -> bytes | None:
        """The watch line for whoever chose: an object that leaves the choice is deleted for him."""
        is_in = self.kind != "DELETED" and chosen(self.after)
        was_in = self.before is not None and chosen(self.before)
        if not (is_in or was_in):
            return None
        kind = "DELETED" if not is_in else "MODIFIED" if was_in else "ADDED"
        if kind not in self._lines:
            self._lines[kind] = encode({"type": kind, "object": msgspec.Raw(self.body)})
        return self._lines[kind]


class History:
    """Changes in order. Versions up to ``forgotten`` cannot be watched from any more."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.version = 0
        self.forgotten = 0

    def add(self, change: Change) -> None:
        """One more."""
        self.changes.append(change)
        self.version = change.version

    def after(self, version: int) -> int:
        """The index of the first change later than that version."""
        return bisect_right(self.changes, version, key=lambda change: change.version)

    def state(self, version: int) -> dict[str, Object]:
        """All objects by path, as they were at that version."""
        objects: dict[str, Object] = {}
        for change in self.changes[: self.after(version)]:
            if change.kind == "DELETED":
                objects.pop(change.path, None)
            else:
                objects[change.path] = change.after
        return objects


@lru_cache(maxsize=65536)
def collections_of(path: str) -> tuple[str, ...]:
    """The collections an object belongs to: its namespace's, and that of all namespaces."""
    own = path.rpartition("/")[0]
    head, found, tail = own.partition("/namespaces/")
    return (own, f"{head}/{tail.partition('/')[2]}") if found else (own,)


def encode(document: Object) -> bytes:
    """JSON as an API server writes it, without blanks."""
    return msgspec.json.encode(document)
