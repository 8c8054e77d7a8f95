"""Structural schemas: pruning, decoding and defaulting of objects by the schema of their kind.

Rules from the Kubernetes documentation (custom resources, "Specifying a structural schema") and from apiextensions
pkg/apiserver/schema. The values of custom resources are not checked by it: `muster lint` and the daemon do that.
"""

import copy
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
_EMBEDDED = ("apiVersion", "kind", "metadata")
_TYPES: dict[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}
_GO_NAMES = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}


def _properties(schema: Json) -> Json:
    """Return the schemas of the fields. Below `items` and `additionalProperties` a CRD may hold anything."""
    found = schema.get("properties")
    return {name: inner for name, inner in found.items() if isinstance(inner, dict)} if isinstance(found, dict) else {}


def _below(value: Any, schema: Json) -> Iterator[tuple[Any, Any, Json]]:
    """Yield the parts of a value that its schema describes: key or index, the field or item, and the schema of that."""
    if isinstance(value, dict):
        properties = _properties(schema)
        for key in list(value):
            inner = properties.get(key) or schema.get("additionalProperties")
            if isinstance(inner, dict):
                yield key, value[key], inner
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        yield from ((index, item, schema["items"]) for index, item in enumerate(value))


def _at(path: str, part: Any) -> str:
    return f"{path}[{part}]" if isinstance(part, int) else f"{path}.{part}" if path else str(part)


def prune(value: Any, schema: Json, path: str = "", *, embedded: bool = False) -> list[str]:
    """Remove fields that the schema does not declare, in place; returns their paths."""
    embedded = embedded or bool(schema.get("x-kubernetes-embedded-resource"))
    lost: list[str] = []
    keep = schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("additionalProperties")
    if isinstance(value, dict) and not keep:
        known = {*_properties(schema), *(_EMBEDDED if embedded else ())}
        for key in [each for each in value if each not in known]:
            del value[key]
            lost.append(_at(path, key))
    for key, item, inner in _below(value, schema):
        if not (embedded and key in _EMBEDDED):
            lost += prune(item, inner, _at(path, key))
    return lost


def fill_defaults(value: Any, schema: Json) -> None:
    """Set the defaults of fields that are missing (or null where null is not allowed), in place."""
    if isinstance(value, dict):
        for key, inner in _properties(schema).items():
            absent = key not in value or (value[key] is None and not inner.get("nullable"))
            if absent and "default" in inner:
                value[key] = copy.deepcopy(inner["default"])
    for _, item, inner in _below(value, schema):
        fill_defaults(item, inner)


def decode_types(value: Any, shape: Json, path: str = "") -> list[str]:
    """Decode as Go does: drop nulls, convert numeric quantities to strings, in place. Returns the type errors."""
    expected = shape.get("type")
    if expected is None:
        return []
    fits = isinstance(value, _TYPES[expected]) and (expected == "boolean" or not isinstance(value, bool))
    if not fits:
        kind = _GO_NAMES.get(type(value), "null")
        return [f"json: cannot unmarshal {kind} into Go struct field {path} of type {expected}"]
    faults: list[str] = []
    for key, item, inner in _below(value, shape):
        if item is None and isinstance(value, dict):
            del value[key]
            continue
        if inner.get("x-quantity") and isinstance(item, int | float) and not isinstance(item, bool):
            item = value[key] = str(item)
        faults += decode_types(item, inner, _at(path, key))
    return faults


def missing(value: Any, shape: Json, path: str) -> list[str]:
    """Return the paths of required fields that are missing below `path`."""
    wanted = (shape.get("required") or ()) if isinstance(value, dict) else ()
    found = [_at(path, name) for name in wanted if name not in value]
    for key, item, inner in _below(value, shape):
        found += missing(item, inner, _at(path, key))
    return found
