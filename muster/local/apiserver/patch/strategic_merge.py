"""Strategic merge patch: a merge patch with list keys (Kubernetes documentation, "update-api-object-kubectl").

Directives: `$patch` (replace, delete, merge), `$deleteFromPrimitiveList/x`, `$setElementOrder/x`, `$retainKeys`.
"""

from __future__ import annotations

from typing import Any

from muster.local.apiserver.errors import bad_request
from muster.local.apiserver.patch.merge_schema import MergeSchema

Json = dict[str, Any]
_DELETE_FROM = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"


def strategic_merge(target: Json, patch: Any, shape: MergeSchema) -> Json:
    """Apply a strategic merge patch. Neither argument is modified."""
    if not isinstance(patch, dict):
        raise bad_request("a strategic merge patch must be an object")
    return _map(target, patch, shape)


def _map(target: Json, patch: Json, shape: MergeSchema) -> Json:
    directive = patch.get("$patch")
    if directive == "replace":
        return {k: _clean(v) for k, v in patch.items() if k != "$patch"}
    if directive == "delete":
        return {}
    result = dict(target)
    retain = patch.get("$retainKeys")
    if isinstance(retain, list):
        result = {k: v for k, v in result.items() if k in retain}
    orders: dict[str, list[Any]] = {}
    for key, value in patch.items():
        if key.startswith(_DELETE_FROM):
            name = key.removeprefix(_DELETE_FROM)
            if isinstance(result.get(name), list) and isinstance(value, list):
                result[name] = [item for item in result[name] if item not in value]
        elif key.startswith(_ORDER) and isinstance(value, list):
            orders[key.removeprefix(_ORDER)] = value
    for key, value in patch.items():
        if key.startswith("$"):
            continue
        if value is None:
            result.pop(key, None)
            continue
        child, held = shape.child(key), result.get(key)
        if isinstance(value, dict):
            result[key] = _map(held if isinstance(held, dict) else {}, value, child)
        elif isinstance(value, list) and (child.keys or child.unique):
            result[key] = _list(held if isinstance(held, list) else [], value, child, orders.pop(key, None))
        else:
            result[key] = value
    for key, order in orders.items():
        if isinstance(result.get(key), list):
            former = target.get(key)
            result[key] = _ordered(result[key], order, former if isinstance(former, list) else [], shape.child(key))
    return result


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _clean(v) for k, v in value.items() if not k.startswith("$") and v is not None}
    return [_clean(v) for v in value] if isinstance(value, list) else value


def _key(item: Any, shape: MergeSchema) -> Any:
    """The value that identifies an item. Strategic merge uses the first key only."""
    if shape.unique or not isinstance(item, dict):
        return repr(item)
    if shape.keys[0] not in item:
        raise bad_request(f"map: {item} does not contain declared merge key: {shape.keys[0]}")
    key = item[shape.keys[0]]
    if not isinstance(key, str | int):
        raise bad_request(f"merge key {shape.keys[0]} of {shape.name} must be a string or a number")
    return key


def _list(held: list[Any], patch: list[Any], shape: MergeSchema, order: list[Any] | None) -> list[Any]:
    if any(isinstance(item, dict) and item == {"$patch": "replace"} for item in patch):
        return [_clean(item) for item in patch if item != {"$patch": "replace"}]
    merged: dict[Any, Any] = {_key(item, shape): item for item in held}
    for item in patch:
        key = _key(item, shape)
        if isinstance(item, dict) and item.get("$patch") == "delete":
            merged.pop(key, None)
            continue
        if isinstance(item, dict):
            merged[key] = _map(merged.get(key) or {}, item, shape.item())
        else:
            merged[key] = item
    return _ordered(list(merged.values()), patch if order is None else order, held, shape)


def _ordered(items: list[Any], order: list[Any], former: list[Any], shape: MergeSchema) -> list[Any]:
    """Items in the patch are in its order; each other item stays before the first one it preceded."""
    keys = [_key(item, shape) for item in former]
    place = {key: index for index, key in enumerate(keys)}
    wanted = {_key(item, shape): index for index, item in enumerate(order)}
    named = sorted((i for i in items if _key(i, shape) in wanted), key=lambda i: wanted[_key(i, shape)])
    others = [i for i in items if _key(i, shape) not in wanted]
    result: list[Any] = []
    while named and others:
        mine, other = place.get(_key(named[0], shape)), place.get(_key(others[0], shape))
        before = mine is not None and other is not None and other < mine
        result.append((others if before else named).pop(0))
    return result + named + others
