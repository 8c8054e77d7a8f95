"""The history of an API server in memory: every change, and every earlier state.

Objects are replaced and never changed in place. So a change holds the objects themselves, and an earlier state is a
replay of the changes without copies.
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
    """A change of one object. ``after`` is the last state of a deleted object; ``at`` is in wall-clock seconds."""

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
        """The encoded object."""
        if not self._body:
            self._body = encode(self.after)
        return self._body

    def within(self, collection: str) -> bool:
        """Whether the object is in that collection, of one namespace or of all."""
        return collection in collections_of(self.path)

    def line(self, chosen: Chosen) -> bytes | None:
        """The watch line for a selector: an object that no longer matches is DELETED."""
        is_in = self.kind != "DELETED" and chosen(self.after)
        was_in = self.before is not None and chosen(self.before)
        if not (is_in or was_in):
            return None
        kind = "DELETED" if not is_in else "MODIFIED" if was_in else "ADDED"
        if kind not in self._lines:
            self._lines[kind] = encode({"type": kind, "object": msgspec.Raw(self.body)})
        return self._lines[kind]


class History:
    """Changes in order. A watch from a version up to ``forgotten`` gets 410."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.version = 0
        self.forgotten = 0

    def add(self, change: Change) -> None:
        """Append a change."""
        self.changes.append(change)
        self.version = change.version

    def restore(self, version: int, bump: int) -> None:
        """Forget everything after a version; the next change comes ``bump`` later (etcdutl --bump-revision).

        Then watches from before get 410 (--mark-compacted).
        """
        del self.changes[self.after(version) :]
        self.version = version + bump
        if bump:
            self.forgotten = self.version

    def after(self, version: int) -> int:
        """The index of the first change after that version."""
        return bisect_right(self.changes, version, key=lambda change: change.version)

    def state(self, version: int) -> dict[str, Object]:
        """All objects by path, at that version."""
        objects: dict[str, Object] = {}
        for change in self.changes[: self.after(version)]:
            if change.kind == "DELETED":
                objects.pop(change.path, None)
            else:
                objects[change.path] = change.after
        return objects


@lru_cache(maxsize=65536)
def collections_of(path: str) -> tuple[str, ...]:
    """The collections of an object: that of its namespace, and that of all namespaces."""
    own = path.rpartition("/")[0]
    head, found, tail = own.partition("/namespaces/")
    return (own, f"{head}/{tail.partition('/')[2]}") if found else (own,)


def encode(document: Object) -> bytes:
    """JSON without blanks, as an API server writes it."""
    return msgspec.json.encode(document)
