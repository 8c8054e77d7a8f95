"""``--ignore-resources``: a manifest of a large cluster, made to fit on one machine.

What only the nodes of that cluster have is dropped: accelerators, node selectors, affinity, tolerations, priorities,
network devices. CPUs and memory are cut to a share of this machine. A queue and claims that exist already are left out;
a volume of a claim is an empty folder. Secrets and ConfigMaps may be missing: those that were made on this machine are
used. Each change is one sentence with its field.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from muster.api.manifest.error_text import Loc
from muster.api.manifest.problems import path, quoted
from muster.api.manifest.yaml.reader import Entry, Mapping, Node, Scalar, Sequence, plain, tree_of
from muster.api.names import PRIORITY_LABEL, QUEUE_LABEL
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
    """Change the tree; what was dropped or cut, a sentence each."""
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
