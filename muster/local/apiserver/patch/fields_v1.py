"""Sets of field paths, to and from the fieldsV1 format of managedFields.

A path is a tuple of fieldsV1 elements: `f:name` for a field, `k:{"name":"a"}` for an item of a list of type map,
`v:"x"` for an item of a list of type set, and a final `.` for the item itself (structured-merge-diff
fieldpath/serialize.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from muster.local.apiserver.patch.merge_schema import MergeSchema

Json = dict[str, Any]
Path = tuple[str, ...]
ITEM = "."
_UNMANAGED_META = frozenset(
    (
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "managedFields",
        "selfLink",
        "generateName",
    )
)


def element_of(item: Any, shape: MergeSchema) -> str:
    """The path element of an item of a map or set list; empty if the item lacks its keys."""
    if shape.unique:
        return "v:" + msgspec.json.encode(item).decode()
    if not isinstance(item, dict):
        return ""
    keys = {
        key: item[key] if key in item else shape.defaults[key]
        for key in shape.keys
        if key in item or key in shape.defaults
    }
    return "k:" + msgspec.json.encode(keys, order="sorted").decode() if keys else ""


def leaves(obj: Json, shape: MergeSchema) -> dict[Path, Any]:
    """The path and value of every leaf field, without the metadata that the server sets."""
    found: dict[Path, Any] = {}
    for name, value in obj.items():
        if name in ("apiVersion", "kind"):
            continue
        if name == "metadata":
            kept = {k: v for k, v in value.items() if k not in _UNMANAGED_META}
            if kept:
                _walk(kept, shape.child(name), ("f:metadata",), found)
            continue
        _walk(value, shape.child(name), (f"f:{name}",), found)
    return found


def _walk(value: Any, shape: MergeSchema, path: Path, found: dict[Path, Any]) -> None:
    if isinstance(value, dict) and value and not shape.atomic:
        for name, inner in value.items():
            _walk(inner, shape.child(name), (*path, f"f:{name}"), found)
        return
    if isinstance(value, list) and value and (shape.keys or shape.unique):
        elements = [element_of(item, shape) for item in value]
        if all(elements):
            inner_shape = shape.item()
            for element, item in zip(elements, value, strict=True):
                below = (*path, element)
                found[(*below, ITEM)] = item if shape.unique else None
                if isinstance(item, dict):
                    for name, inner in item.items():
                        _walk(inner, inner_shape.child(name), (*below, f"f:{name}"), found)
            return
    found[path] = value


def to_fields(paths: Iterable[Path]) -> Json:
    """Paths in fieldsV1 format."""
    root: Json = {}
    for path in sorted(paths):
        node = root
        for element in path:
            node = node.setdefault(element, {})
    return root


def from_fields(fields: Mapping[str, Any]) -> set[Path]:
    """The paths of a fieldsV1 object. A `.` is kept for list items only; for a map it adds nothing."""
    found: set[Path] = set()
    stack: list[tuple[Path, Mapping[str, Any]]] = [((), fields)]
    while stack:
        path, node = stack.pop()
        for element, inner in node.items():
            below = (*path, element)
            if element == ITEM:
                if path and path[-1][:2] in ("k:", "v:"):
                    found.add(below)
            elif isinstance(inner, Mapping) and inner:
                stack.append((below, inner))
            elif element[:2] == "v:":
                found.add((*below, ITEM))
            else:
                found.add(below)
    return found


def readable(path: Path) -> str:
    """A path as conflict messages show it: `.spec.containers[name="a"].image`."""
    text = ""
    for element in path:
        if element == ITEM:
            continue
        kind, rest = element[:2], element[2:]
        if kind == "f:":
            text += f".{rest}"
        elif kind == "k:":
            try:
                keys = msgspec.json.decode(rest, type=dict[str, Any])
            except msgspec.DecodeError:
                text += f"[{rest}]"
                continue
            text += "[" + ",".join(f"{k}={msgspec.json.encode(v).decode()}" for k, v in keys.items()) + "]"
        else:
            text += f"[={rest}]"
    return text
