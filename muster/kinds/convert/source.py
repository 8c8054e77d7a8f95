"""The manifest that is converted: fields are read at their place, and every field that is not read is a loss.

A converter takes what it understands out of a mapping (``value``, ``fields``, ``items``) and calls ``rest`` at the end,
so that no field of a manifest can be dropped without being named.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from muster.api.manifest.error_text import Loc, position
from muster.api.manifest.problems import ManifestError, Problem, path, quoted
from muster.api.manifest.yaml.reader import Mapping, Node, Scalar, Sequence, plain

NO_FIELD: Final = "not carried over: an Experiment has no field for it"


@dataclass(slots=True)
class Report:
    """Result of a conversion: ``losses`` have no counterpart, ``notes`` are differences worth knowing."""

    root: Node
    file: str
    losses: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)

    def problem(self, loc: Loc, message: str, hint: str = "", *, key: bool = False) -> Problem:
        """Return a problem at a place of the manifest."""
        line, column = position(self.root, loc, key=key)
        return Problem(self.file, line, column, path(loc), message, hint)

    def refuse(self, loc: Loc, message: str, hint: str = "") -> ManifestError:
        """Return the error that ends a conversion."""
        return ManifestError([self.problem(loc, message, hint)])


class Fields:
    """One mapping of the manifest, and which of its fields have been read."""

    def __init__(self, report: Report, node: Mapping, loc: Loc = ()) -> None:
        self.report = report
        self.node = node
        self.loc = loc
        self._unread = dict.fromkeys(node.entries)

    def __contains__(self, key: str) -> bool:
        """Return True if the field is present and is not null."""
        entry = self.node.entries.get(key)
        return entry is not None and not (isinstance(entry.node, Scalar) and entry.node.value is None)

    def at(self, *keys: str | int) -> Loc:
        """Return the place of a field."""
        return (*self.loc, *keys)

    def take(self, key: str) -> Node | None:
        """Return the value of a field, which counts as read; None if it is absent or null."""
        self._unread.pop(key, None)
        return self.node.entries[key].node if key in self else None

    def value(self, key: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
        """Return a plain value of that kind."""
        node = self.take(key)
        if node is None:
            return default
        found = plain(node)
        if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
            raise self.report.refuse(self.at(key), f"{quoted(found)} is not expected here", "correct the manifest")
        return found

    def text(self, key: str) -> str:
        """Return a text; empty if it is absent."""
        found: str = self.value(key, str, "")
        return found

    def number(self, key: str, default: int) -> int:
        """Return a whole number that is not negative."""
        found: int = self.value(key, int, default)
        if found < 0:
            raise self.report.refuse(self.at(key), f"{found} is negative", "correct the manifest")
        return found

    def words(self, key: str) -> list[str]:
        """Return a list of texts; empty if it is absent."""
        found = self.value(key, list, [])
        if not all(isinstance(each, str) for each in found):
            raise self.report.refuse(self.at(key), "a list of texts is expected", "put its values in quotes")
        return list(found)

    def fields(self, key: str) -> "Fields":
        """Return a mapping; an empty one if it is absent."""
        node = self.take(key)
        if node is None:
            return Fields(self.report, Mapping(self.node.line, self.node.column), self.at(key))
        return self._mapping(node, key)

    def items(self, key: str) -> Iterator["Fields"]:
        """Yield the mappings in a list."""
        node = self.take(key)
        if node is None:
            return
        if not isinstance(node, Sequence):
            raise self.report.refuse(self.at(key), "a list is expected", "correct the manifest")
        for place, item in enumerate(node.items):
            yield self._mapping(item, key, place)

    def _mapping(self, node: Node, *keys: str | int) -> "Fields":
        if not isinstance(node, Mapping):
            raise self.report.refuse(self.at(*keys), "a mapping is expected", "correct the manifest")
        return Fields(self.report, node, self.at(*keys))

    def ignore(self, *keys: str) -> None:
        """Skip fields without a meaning for an Experiment: their controller writes them, or they are its own rule."""
        for key in keys:
            self._unread.pop(key, None)

    def lose(self, key: str, message: str, hint: str = "") -> None:
        """Report a field that cannot be carried over."""
        self._unread.pop(key, None)
        if key in self:
            self.report.losses.append(self.report.problem(self.at(key), message, hint, key=True))

    def lost(self, message: str, hint: str = "", *keys: str | int) -> None:
        """Report that something in this mapping, or at a place below it, cannot be carried over."""
        self.report.losses.append(self.report.problem(self.at(*keys), message, hint, key=bool(keys)))

    def note(self, message: str, hint: str = "", *keys: str) -> None:
        """Report a difference that is worth knowing."""
        self.report.notes.append(self.report.problem(self.at(*keys), message, hint, key=bool(keys)))

    def rest(self, message: str = NO_FIELD) -> None:
        """Report every field that has not been read as lost."""
        for key in list(self._unread):
            self.lose(key, message)
