"""The manifest that is converted and the draft of its Experiment: what is carried over, and what is lost."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import ValidationError

from muster.api.manifest.error_text import Loc, explain, position
from muster.api.manifest.experiment import ExperimentSpec
from muster.api.manifest.naming import check_name
from muster.api.manifest.problems import ManifestError, Problem, bounded, path, quoted
from muster.api.manifest.yaml.reader import Mapping, Node, Scalar, Sequence, plain
from muster.api.names import API_VERSION, KIND


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
    """One mapping of the manifest, and which of its fields have been read.

    A converter takes what it understands out of it (``value``, ``fields``, ``items``) and calls ``rest`` at the end, so
    that no field of a manifest can be dropped without being named.
    """

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

    def rest(self, message: str = "not carried over: an Experiment has no field for it") -> None:
        """Report every field that has not been read as lost."""
        for key in list(self._unread):
            self.lose(key, message)


ROUNDS: Final = 64
"""Times that a draft is checked: each takes something out of it."""


class Draft:
    """``metadata`` and ``spec`` of the Experiment, in the order in which people read them.

    Parts of the manifest are carried into it, each with its place. What the model of an Experiment refuses in such a
    part (a field that Muster sets itself, a variable that it injects) is taken out again and is a loss with the model's
    reason. Anything else that it refuses ends the conversion.
    """

    def __init__(self, report: Report) -> None:
        self.report = report
        self.metadata: dict[str, Any] = {}
        self.spec: dict[str, Any] = {}
        self._origins: dict[int, tuple[Loc, bool]] = {}
        self._kept: list[object] = []

    def carry(self, node: Node, loc: Loc) -> Any:
        """Return a part of the manifest as plain data, without nulls, whose containers remember their place."""
        found: Any
        if isinstance(node, Mapping):
            carried = {key: self.carry(entry.node, (*loc, key)) for key, entry in node.entries.items()}
            found = {key: value for key, value in carried.items() if value is not None}
        elif isinstance(node, Sequence):
            found = [self.carry(item, (*loc, place)) for place, item in enumerate(node.items)]
        else:
            return node.value
        return self.placed(found, loc, carried=True)

    def placed(self, value: Any, loc: Loc, *, carried: bool = False) -> Any:
        """Return ``value``, a container that represents ``loc`` of the manifest; ``carried`` as it is written there."""
        self._origins[id(value)] = loc, carried
        self._kept.append(value)  # so that no other object gets its id
        return value

    def document(self) -> dict[str, Any]:
        """Return the Experiment, checked. Raises ``ManifestError`` where what is left cannot be one."""
        for _ in range(ROUNDS):
            try:
                spec = ExperimentSpec.read(self.spec)
            except ValidationError as error:
                self._take_out(error)
                continue
            name = self.metadata.get("name", "")
            found = check_name(name, spec.groups) if name else []
            if found:
                raise ManifestError(self.report.problem(("metadata", "name"), *each) for each in found)
            return {"apiVersion": API_VERSION, "kind": KIND, "metadata": self.metadata, "spec": _pruned(self.spec)}
        raise self.report.refuse((), "the manifest holds too much that an Experiment cannot", "write one by hand")

    def _take_out(self, error: ValidationError) -> None:
        """Take what is refused out of the carried parts. Raises ``ManifestError`` for a refusal elsewhere."""
        problems = explain(error, ExperimentSpec, operator=self.spec.get("operator"))
        refused, out = [], []
        for detail, problem in zip(error.errors(include_url=False), problems, strict=True):
            loc: Loc = tuple(part for part in detail["loc"] if part != "[key]")
            missing = detail["type"] == "missing"
            place, carried = self._origin(loc[:-1] if missing else loc)
            if not carried:
                refused.append(self.report.problem(place, problem.message, problem.hint))
                continue
            out.append(loc[:-1] if missing else loc)
            message = f"not carried over: {problem.message}"
            if not missing:  # else something in it was taken out, and has been reported
                self.report.losses.append(self.report.problem(place, message, problem.hint, key=True))
        if refused:
            raise ManifestError(bounded(refused))
        for loc in sorted(set(out), key=lambda each: [str(part).zfill(6) for part in each], reverse=True):
            self._remove(loc)

    def _origin(self, loc: Loc) -> tuple[Loc, bool]:
        """Return the place in the manifest of that part of the draft, and True if it was carried over unchanged."""
        here: Any = self.spec
        place: Loc = ()
        depth, carried = 0, False
        for number, part in enumerate(loc, start=1):
            here = _step(here, part)
            if id(here) in self._origins:
                (place, carried), depth = self._origins[id(here)], number
        return (*place, *loc[depth:]), carried

    def _remove(self, loc: Loc) -> None:
        parent: Any = self.spec
        for part in loc[:-1]:
            parent = _step(parent, part)
        if isinstance(parent, dict):
            parent.pop(loc[-1], None)
        elif isinstance(parent, list) and isinstance(loc[-1], int) and loc[-1] < len(parent):
            del parent[loc[-1]]


def _step(value: Any, part: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(part)
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        return value[part]
    return None


def _pruned(value: Any, depth: int = 0) -> Any:
    """Return the value without containers that were emptied by taking out, down to the templates."""
    if depth > 3 or not isinstance(value, dict):
        return value
    found = {key: _pruned(inner, depth + 1) for key, inner in value.items()}
    return {key: inner for key, inner in found.items() if inner not in ({}, [])}


@dataclass(frozen=True, slots=True)
class Converter:
    """A kind of manifest that is converted. ``write`` writes the draft from the fields, in the version that is read."""

    kind: str
    api_version: str
    write: Callable[[Draft, Fields], None]
