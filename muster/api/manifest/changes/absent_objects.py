"""``--ignore-resources``: what a manifest names of its own cluster, and that a cluster on one machine does not have.

A queue and claims that exist already are left out; a volume of a claim is an empty folder. Secrets and ConfigMaps may
be missing: those that were made on this machine are used. Each change is one sentence with its field.
"""

from collections.abc import Iterator
from typing import Final

from muster.api.manifest.error_text import Loc
from muster.api.manifest.problems import path
from muster.api.manifest.yaml.reader import Entry, Mapping, plain
from muster.api.manifest.yaml.tree import tree_of
from muster.api.names import PRIORITY_LABEL, QUEUE_LABEL

_REFERENCES: Final = frozenset(("secretKeyRef", "configMapKeyRef", "secretRef", "configMapRef"))
_SOURCES: Final = ("secret", "configMap")


def without_objects(node: Mapping, loc: Loc) -> Iterator[str]:
    """Change this mapping of the tree; what was changed."""
    if loc == ("metadata", "labels"):
        yield from _left_out(node, loc, QUEUE_LABEL)
        yield from _left_out(node, loc, PRIORITY_LABEL)
    elif loc == ("spec", "storage"):
        yield from _left_out(node, loc, "attachExistingPVCs")
    elif loc == ("spec", "tensorboard"):
        yield from _left_out(node, loc, "usePVC")
    elif loc[-1] in _REFERENCES or (loc[-1] in _SOURCES and "volumes" in loc):
        yield from _optional(node, loc)
    elif loc[-2:-1] == ("volumes",) and "persistentVolumeClaim" in node.entries:
        del node.entries["persistentVolumeClaim"]
        node.entries["emptyDir"] = Entry(0, 0, tree_of({}))
        yield f"{path((*loc, 'persistentVolumeClaim'))}: an empty folder in its place"


def _left_out(node: Mapping, loc: Loc, key: str) -> Iterator[str]:
    if (entry := node.entries.pop(key, None)) is not None and (value := plain(entry.node)):
        yield f"{path((*loc, key))}: dropped{_shown(value)}"


def _optional(node: Mapping, loc: Loc) -> Iterator[str]:
    stated = node.entries.get("optional")
    if stated is None or plain(stated.node) is not True:
        node.entries["optional"] = Entry(0, 0, tree_of(True))
        yield f"{path((*loc, 'optional'))}: true, so that it may be missing here"


def _shown(value: object) -> str:
    """A queue by its name, claims by the folders that they were mounted at."""
    if isinstance(value, list):
        folders = [str(each.get("mountPoint")) for each in value if isinstance(each, dict)]
        value = f"{', '.join(folders)[:60]} is not there"
    return f" ({value})" if isinstance(value, str) and value.isprintable() else ""
