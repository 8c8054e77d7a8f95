"""``--set PATH=VALUE``: change a field of a manifest before it is checked.

A path is made of names, ``[0]`` for an element of a list and ``["a.b/c"]`` for a name that holds dots; an element can
also be chosen by its own name. It begins at the root of the manifest or in ``spec``. The value is YAML; without one the
field is removed. What is set has no line, so a problem of it names the field alone.
"""

import re
from collections.abc import Sequence as List
from typing import Final

from muster.api.manifest.error_text import Loc, known_fields
from muster.api.manifest.experiment import ExperimentSpec
from muster.api.manifest.problems import ManifestError, Problem, nearest, path, quoted
from muster.api.manifest.yaml.reader import Entry, Mapping, Node, Scalar, Sequence, plain, read_yaml, scalar_at, tree_of
from muster.api.names import AICHOR_KIND, KIND

_PART: Final = re.compile(r"""\.?([^.\[\]=]+)|\[(\d{1,6})\]|\[(?:"([^"\]]+)"|'([^'\]]+)')\]""")
_NAMES: Final = ("name", "groupName")
"""Fields by which an element of a list is chosen."""
_ROOT: Final = ("kind", "apiVersion", "name", "metadata", "spec", "builder", "clone")


def override(root: Node, assignment: str) -> None:
    """Change the tree. Raises ``ManifestError`` for a path that leads nowhere."""
    written, separator, value = assignment.partition("=")
    while separator and written.count("[") > written.count("]"):  # a name in brackets may hold "="
        more, separator, value = value.partition("=")
        written = f"{written}={more}"
    parts = _parts(written)
    if not separator or not parts:
        raise _wrong(assignment, (), f"{quoted(assignment)} is not PATH=VALUE", "as in types.worker.count=2")
    node, problems = read_yaml(value, filename=f"--set {written}") if value.strip() else (None, [])
    if problems:
        raise ManifestError(problems)
    _Override(root, assignment).write(parts, tree_of(plain(node)) if node is not None else None)


def _parts(written: str) -> List[str | int]:
    parts: list[str | int] = []
    at = 0
    while at < len(written):
        found = _PART.match(written, at)
        if found is None or (not at and written.startswith(".")):
            return ()
        word, index, *quotes = found.groups()
        parts.append(int(index) if index else word or next(filter(None, quotes)))
        at = found.end()
    return parts


def _wrong(assignment: str, loc: Loc, message: str, hint: str = "") -> ManifestError:
    return ManifestError([Problem(f"--set {assignment}", 0, 0, path(loc), message, hint)])


class _Override:
    """One assignment to one tree."""

    def __init__(self, root: Node, assignment: str) -> None:
        self.root = root
        self.assignment = assignment
        kind = scalar_at(root, "kind")
        self.closed = not isinstance(kind, str) or kind in ("", AICHOR_KIND, KIND)
        self.operator = scalar_at(root, "spec", "operator")

    def write(self, parts: List[str | int], value: Node | None) -> None:
        """Put the value at the place of the parts; None removes the present one."""
        if not isinstance(self.root, Mapping):
            raise _wrong(self.assignment, (), "the manifest is not a mapping")
        first = parts[0]
        loc: Loc = () if first in self.root.entries or first in _ROOT else ("spec",)
        node = self._step(self.root, (), "spec") if loc else self.root
        for number, part in enumerate(parts):
            last = number == len(parts) - 1
            if isinstance(node, Mapping):
                key = self._key(node, loc, part, last=last)
                if last:
                    _put(node, key, value)
                    return
                loc, node = (*loc, key), self._step(node, loc, key)
            elif isinstance(node, Sequence):
                index = self._index(node, loc, part)
                loc = (*loc, index)
                if last:
                    node.items[index : index + 1] = [] if value is None else [value]
                    return
                node = node.items[index]
            else:
                raise self._wrong(loc, f"it is {quoted(plain(node))} and holds no {quoted(str(part))}")

    def _step(self, node: Mapping, loc: Loc, key: str) -> Node:
        """Return the value of a key; a mapping where there is none yet."""
        entry = node.entries.get(key)
        if entry is None or (isinstance(entry.node, Scalar) and entry.node.value is None):
            entry = node.entries[key] = Entry(0, 0, Mapping(0, 0))
        if isinstance(entry.node, Scalar):
            raise self._wrong((*loc, key), f"it is {quoted(entry.node.value)} and holds no other fields")
        return entry.node

    def _key(self, node: Mapping, loc: Loc, part: str | int, *, last: bool) -> str:
        """Return the key that a part names. Raises for one that the manifest cannot have."""
        if isinstance(part, int):
            raise self._wrong((*loc, part), "it is not a list", f"it has {_list(node.entries)}")
        if part in node.entries:
            return part
        same = [key for key in node.entries if key.lower() == part.lower()]
        if len(same) == 1:
            return same[0]
        known = known_fields(ExperimentSpec, self.operator, loc[1:]) if self.closed and loc[:1] == ("spec",) else []
        if part in known or (not known and (last or not self.closed) and loc != ("spec", "types")):
            return part
        close = nearest(part, [*node.entries, *known])
        hint = f"did you mean {close}?" if close else f"it has {_list([*node.entries, *known])}"
        raise self._wrong((*loc, part), "there is no such field", hint)

    def _index(self, node: Sequence, loc: Loc, part: str | int) -> int:
        names = [_name_of(item) for item in node.items]
        if isinstance(part, str) and part.isdecimal() and part not in names:
            part = int(part)
        if isinstance(part, int):
            if part < len(node.items):
                return part
            count = len(node.items)
            raise self._wrong((*loc, part), f"the list has {count} element{'s' * (count != 1)}, counted from 0")
        if part in names:
            return names.index(part)
        known = [name for name in names if name]
        close = nearest(part, known)
        hint = f"did you mean {close}?" if close else f"it has {_list(known)}" if known else "write its index"
        raise self._wrong((*loc, part), "no element has this name", hint)

    def _wrong(self, loc: Loc, message: str, hint: str = "") -> ManifestError:
        return _wrong(self.assignment, loc, message, hint)


def _put(node: Mapping, key: str, value: Node | None) -> None:
    if value is None:
        node.entries.pop(key, None)
    else:
        node.entries[key] = Entry(0, 0, value)


def _name_of(item: Node) -> str | None:
    names = (scalar_at(item, key) for key in _NAMES)
    return next((name for name in names if isinstance(name, str)), None)


def _list(names: object) -> str:
    found = list(dict.fromkeys(names)) if isinstance(names, list | dict) else []
    return ", ".join(found[:16]) if found else "nothing yet"
