"""Changes of the command line to a manifest before it is checked: ``--ignore-resources`` and ``--set``."""

import re
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Sequence as List
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from muster.api.manifest.error_text import Loc, known_fields
from muster.api.manifest.experiment import ExperimentSpec
from muster.api.manifest.problems import ManifestError, Problem, nearest, path, quoted
from muster.api.manifest.yaml.reader import Entry, Mapping, Node, Scalar, Sequence, plain, read_yaml, scalar_at, tree_of
from muster.api.names import AICHOR_KIND, KIND, PRIORITY_LABEL, QUEUE_LABEL
from muster.api.values.quantities import QuantityError, parse_quantity

TYPE_FIELDS: Final = ("accelerators", "extraSelectors", "extraTolerations", "rdma", "shmSizeGB")
"""Fields of ``resources`` of a type."""
POD_FIELDS: Final = (
    "nodeSelector",
    "affinity",
    "tolerations",
    "topologySpreadConstraints",
    "priorityClassName",
    "runtimeClassName",
    "schedulerName",
    "nodeName",
    "resourceClaims",
)
"""Fields of a pod."""
_MARKS: Final = frozenset(("cpus", "ramRatio", "memory", *TYPE_FIELDS))
_GB: Final = 10**9
_REFERENCES: Final = frozenset(("secretKeyRef", "configMapKeyRef", "secretRef", "configMapRef"))
_SOURCES: Final = ("secret", "configMap")


@dataclass(frozen=True, slots=True)
class Share:
    """Resources that one member may ask for."""

    cpus: float
    memory: float
    """GB."""


def lighten(root: Node, share: Share) -> list[str]:
    """Make the manifest of a large cluster fit on one machine; return each change, a sentence with its field.

    What only the nodes of that cluster have is dropped: accelerators, node selectors, affinity, tolerations,
    priorities, network devices. CPUs and memory are cut to a share of this machine. A queue and claims that exist
    already are left out; a volume of a claim is an empty folder. Secrets and ConfigMaps may be missing: those that were
    made on this machine are used.
    """
    return list(_walk(root, (), share))


def _walk(node: Node, loc: Loc, share: Share) -> Iterator[str]:
    if isinstance(node, Sequence):
        for place, item in enumerate(node.items):
            yield from _walk(item, (*loc, place), share)
    if not isinstance(node, Mapping):
        return
    if loc[-1:] == ("resources",) and not {"requests", "limits"} & set(node.entries) and _MARKS & set(node.entries):
        yield from _type(node, loc, share)
        return
    if loc[-1:] in (("resources",), ("resourcesPerNode",)):
        yield from _container(node, loc, share)
        return
    if loc:
        yield from _without_objects(node, loc)
    if "containers" in node.entries or loc[-2:] == ("template", "spec"):
        yield from _dropped(node, loc, POD_FIELDS)
    for key, entry in list(node.entries.items()):
        if key != "status":
            yield from _walk(entry.node, (*loc, key), share)


def _type(node: Mapping, loc: Loc, share: Share) -> Iterator[str]:
    """Cut ``resources`` of a type; yield each change."""
    yield from _dropped(node, loc, TYPE_FIELDS)
    given = plain(node)
    cpus, ratio, memory = given.get("cpus", 1), given.get("ramRatio"), given.get("memory")
    if not isinstance(cpus, int | float) or isinstance(cpus, bool):
        return  # it is refused when it is loaded
    if isinstance(ratio, int | float) and not isinstance(ratio, bool):
        memory = cpus * ratio
    if cpus > share.cpus:
        node.entries["cpus"] = Entry(0, 0, tree_of(share.cpus))
        yield f"{path((*loc, 'cpus'))}: {share.cpus:g} in place of {cpus:g}"
        if ratio is not None and isinstance(memory, int | float):
            del node.entries["ramRatio"]
            node.entries["memory"] = Entry(0, 0, tree_of(float(memory)))
    if isinstance(memory, int | float) and memory > share.memory:
        node.entries.pop("ramRatio", None)
        node.entries["memory"] = Entry(0, 0, tree_of(share.memory))
        yield f"{path((*loc, 'memory'))}: {share.memory:g} GB in place of {memory:g}"


def _container(node: Mapping, loc: Loc, share: Share) -> Iterator[str]:
    """Cut CPU and memory of a container, drop every other resource, a device of a node; yield each change."""
    yield from _dropped(node, loc, ("claims",))
    for kind in ("requests", "limits"):
        entry = node.entries.get(kind)
        if entry is None or not isinstance(entry.node, Mapping):
            continue
        place = (*loc, kind)
        yield from _dropped(entry.node, place, [key for key in entry.node.entries if key not in ("cpu", "memory")])
        for key, most in (("cpu", Decimal(str(share.cpus))), ("memory", Decimal(str(share.memory)) * _GB)):
            stated = entry.node.entries.get(key)
            if stated is None or not isinstance(stated.node, Scalar):
                continue
            try:
                over = parse_quantity(stated.node.raw) > most
            except QuantityError:
                continue  # it is refused when it is loaded
            if over:
                cut = str(most if key == "cpu" else int(most))
                entry.node.entries[key] = Entry(0, 0, tree_of(cut))
                yield f"{path((*place, key))}: {cut} in place of {stated.node.raw}"


def _shown(value: object) -> str:
    if isinstance(value, dict):
        stated = {key: inner for key, inner in value.items() if inner is not None}
        words = [f"{key}: {inner}" for key, inner in stated.items() if not isinstance(inner, dict | list)]
        nested = [str(key) for key, inner in stated.items() if isinstance(inner, dict | list)]
        text = ", ".join([*words, *nested])[:60]
        return f" ({text})" if text.isprintable() else ""
    return f" ({len(value)})" if isinstance(value, list) else f" ({quoted(value)})"


def _dropped(node: Mapping, loc: Loc, keys: Iterable[str], shown: Callable[[object], str] = _shown) -> Iterator[str]:
    """Drop these fields; yield each that had a value."""
    for key in keys:
        entry = node.entries.pop(key, None)
        if entry is not None and (value := plain(entry.node)):
            yield f"{path((*loc, key))}: dropped{shown(value)}"


def _without_objects(node: Mapping, loc: Loc) -> Iterator[str]:
    """Leave out, or make optional, objects that only that cluster has; yield each change."""
    if loc == ("metadata", "labels"):
        yield from _dropped(node, loc, (QUEUE_LABEL, PRIORITY_LABEL), _shown_name)
    elif loc == ("spec", "storage"):
        yield from _dropped(node, loc, ("attachExistingPVCs",), _shown_name)
    elif loc == ("spec", "tensorboard"):
        yield from _dropped(node, loc, ("usePVC",), _shown_name)
    elif loc[-1] in _REFERENCES or (loc[-1] in _SOURCES and "volumes" in loc):
        yield from _optional(node, loc)
    elif loc[-2:-1] == ("volumes",) and "persistentVolumeClaim" in node.entries:
        del node.entries["persistentVolumeClaim"]
        node.entries["emptyDir"] = Entry(0, 0, tree_of({}))
        yield f"{path((*loc, 'persistentVolumeClaim'))}: an empty folder in its place"


def _optional(node: Mapping, loc: Loc) -> Iterator[str]:
    stated = node.entries.get("optional")
    if stated is None or plain(stated.node) is not True:
        node.entries["optional"] = Entry(0, 0, tree_of(True))
        yield f"{path((*loc, 'optional'))}: true, so that it may be missing here"


def _shown_name(value: object) -> str:
    """Return a queue by its name, claims by the folders that they were mounted at."""
    if isinstance(value, list):
        folders = [str(each.get("mountPoint")) for each in value if isinstance(each, dict)]
        value = f"{', '.join(folders)[:60]} does not exist"
    return f" ({value})" if isinstance(value, str) and value.isprintable() else ""


_PART: Final = re.compile(r"""\.?([^.\[\]=]+)|\[(\d{1,6})\]|\[(?:"([^"\]]+)"|'([^'\]]+)')\]""")
_NAMES: Final = ("name", "groupName")
"""Fields by which an element of a list is chosen."""
_ROOT: Final = ("kind", "apiVersion", "name", "metadata", "spec", "builder", "clone")


def override(root: Node, assignment: str) -> None:
    """Change one field of the tree by ``PATH=VALUE``. Raises ``ManifestError`` for a path that leads nowhere.

    A path is made of names, ``[0]`` for an element of a list and ``["a.b/c"]`` for a name that holds dots; an element
    can also be chosen by its own name. It begins at the root of the manifest or in ``spec``. The value is YAML; without
    one the field is removed. What is set has no line, so a problem of it names the field alone.
    """
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
