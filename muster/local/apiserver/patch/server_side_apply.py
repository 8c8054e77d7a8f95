"""Server-side apply: merge an applied configuration by field ownership (Kubernetes documentation of that name)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from muster.local.apiserver.errors import ApiError
from muster.local.apiserver.patch.fields_v1 import ITEM, Path, element_of, leaves, readable, to_fields
from muster.local.apiserver.patch.managed_fields import FieldManager, entries, owned
from muster.local.apiserver.patch.merge_schema import MergeSchema

Json = dict[str, Any]
_ABSENT = object()


def apply_configuration(
    live: Json, applied: Json, shape: MergeSchema, writer: FieldManager, *, force: bool
) -> tuple[Json, list[Json]]:
    """The object after an apply, and its managedFields; ApiError 409 names each conflicting field and its manager."""
    wanted = leaves(applied, shape)
    present = leaves(live, shape)
    others = [entry for entry in entries(live) if not writer.owns(entry)]
    former: set[Path] = set()
    for entry in entries(live):
        if writer.owns(entry):
            former |= owned(entry)
    differing = {path for path, value in wanted.items() if present.get(path, _ABSENT) != value}
    contested = [(entry, owned(entry) & differing) for entry in others]
    conflicts = [(entry, path) for entry, paths in contested for path in sorted(paths)]
    if conflicts and not force:
        raise _conflict(conflicts)
    kept: list[Json] = []
    held_elsewhere: set[Path] = set()
    for entry, paths in contested:
        left = owned(entry) - paths
        held_elsewhere |= left
        if left:
            kept.append({**entry, "fieldsV1": to_fields(left)} if paths else entry)
    merged = _merge(live, applied, shape)
    _remove(merged, former - wanted.keys() - held_elsewhere, wanted.keys() | held_elsewhere, shape)
    mine = writer.entry(set(wanted))
    previous = next((entry for entry in entries(live) if writer.owns(entry)), None)
    if previous is not None and previous.get("fieldsV1") == mine["fieldsV1"]:
        mine["time"] = previous.get("time", mine["time"])
    kept.insert(0, mine)
    return merged, kept


def overlay(live: Json, applied: Json) -> Json:
    """The object after an apply to a resource without managedFields: fields are replaced, metadata is merged."""
    meta, wanted = live["metadata"], applied["metadata"]
    merged = {**meta, **wanted}
    for name in ("labels", "annotations"):
        if name in meta and name in wanted:
            merged[name] = {**meta[name], **wanted[name]}
    return {**live, **applied, "metadata": merged}


def _conflict(conflicts: list[tuple[Json, Path]]) -> ApiError:
    causes = []
    for entry, path in conflicts:
        via = f' with subresource "{entry["subresource"]}"' if entry.get("subresource") else ""
        by = f'conflict with "{entry.get("manager")}"{via} using {entry.get("apiVersion")}'
        causes.append({"reason": "FieldManagerConflict", "message": by, "field": readable(path)})
    count = len(causes)
    if count == 1:
        text = f"Apply failed with 1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        listed = "\n".join(f"- {c['message']}: {c['field']}" for c in causes)
        text = f"Apply failed with {count} conflicts: conflicts:\n{listed}"
    return ApiError(409, "Conflict", text, {"causes": causes})


def _merge(live: Any, applied: Any, shape: MergeSchema) -> Any:
    if isinstance(live, dict) and isinstance(applied, dict) and not shape.atomic:
        result = dict(live)
        for name, value in applied.items():
            if value is not None:
                result[name] = _merge(live.get(name), value, shape.child(name))
        return result
    if isinstance(live, list) and isinstance(applied, list) and (shape.keys or shape.unique):
        return _merge_list(live, applied, shape)
    return _fresh(applied)


def _fresh(value: Any) -> Any:
    """A copy of an applied value without nulls."""
    if isinstance(value, dict):
        return {k: _fresh(v) for k, v in value.items() if v is not None}
    return [_fresh(v) for v in value] if isinstance(value, list) else value


def _merge_list(live: list[Any], applied: list[Any], shape: MergeSchema) -> list[Any]:
    """Items in the applied order; an item that only the live list has stays behind the item it followed there."""
    names = [element_of(item, shape) for item in applied]
    held = {element_of(item, shape): item for item in live}
    result = [
        _merge(held[name], item, shape.item()) if name in held else _fresh(item)
        for name, item in zip(names, applied, strict=True)
    ]
    order = list(names)
    previous = ""
    for item in live:
        name = element_of(item, shape)
        if name not in order:
            at = order.index(previous) + 1 if previous in order else 0
            order.insert(at, name)
            result.insert(at, item)
        previous = name
    return result


def _remove(obj: Json, gone: set[Path], kept: Iterable[Path], shape: MergeSchema) -> None:
    """Remove fields from an object: whole list items first, and none that contains a kept field."""
    prefixes = {path[:n] for path in kept for n in range(1, len(path) + 1)}
    items = [path[:-1] for path in gone if path[-1] == ITEM]
    plain = [path for path in gone if path[-1] != ITEM]
    for path in sorted(items, key=len) + sorted(plain, key=len, reverse=True):
        if path not in prefixes:
            _take(obj, path, shape)


def _take(value: Any, path: Path, shape: MergeSchema) -> None:
    head, rest = path[0], path[1:]
    if head[:2] == "f:":
        name = head[2:]
        if not isinstance(value, dict) or name not in value:
            return
        if not rest:
            del value[name]
            return
        inner = value[name]
        # This modifies parts shared with the live object, which was decoded for this request alone.
        _take(inner, rest, shape.child(name))
        if inner in ({}, []) and name != "metadata":
            del value[name]
        return
    if not isinstance(value, list):
        return
    for index, item in enumerate(value):
        if element_of(item, shape) == head:
            if rest and rest != (ITEM,):
                _take(item, rest, shape.item())
            else:
                del value[index]
            return
