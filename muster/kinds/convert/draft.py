"""The draft of an Experiment: parts of the manifest are carried into it, each with its place in the manifest.

What the model of an Experiment refuses in a carried part (a field that Muster sets itself, a variable that it injects)
is taken out again and is a loss with the model's reason. Anything else that it refuses ends the conversion.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from muster.api.manifest.error_text import Loc, explain
from muster.api.manifest.experiment import ExperimentSpec
from muster.api.manifest.naming import check_name
from muster.api.manifest.problems import ManifestError, bounded
from muster.api.manifest.yaml.reader import Mapping, Node, Sequence
from muster.api.names import API_VERSION, KIND
from muster.kinds.convert.source import Fields, Report

ROUNDS: Final = 64
"""Times that a draft is checked: each takes something out of it."""


class Draft:
    """``metadata`` and ``spec`` of the Experiment, in the order in which people read them."""

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
        said = explain(error, ExperimentSpec, operator=self.spec.get("operator"))
        refused, out = [], []
        for detail, problem in zip(error.errors(include_url=False), said, strict=True):
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
