"""Schemas of built-in kinds, made from the typed models of kubernetes_asyncio.

Each model class lists its fields with their types (`openapi_types`, `attribute_map`), and the setter of a required
field refuses None. The classes are imported at the first use, which takes 0.3 s, and not at the start.
"""

from __future__ import annotations

import functools
import re
from typing import Any

Json = dict[str, Any]
_MAP = re.compile(r"dict\(str, (.+)\)")
_LIST = re.compile(r"list\[(.+)\]")
SCALARS: dict[str, Json] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "datetime": {"type": "string", "format": "date-time"},
}
_QUANTITIES = frozenset(("limits", "requests", "capacity", "allocatable", "overhead", "default", "allocatedResources"))


def model_name(version: str, kind: str) -> str:
    """The name of the model class of a built-in kind."""
    return "CoreV1Event" if kind == "Event" else f"{version.capitalize()}{kind}"


def _models() -> Any:
    from kubernetes_asyncio.client import models

    return models


def required_fields(name: str) -> list[str]:
    """The JSON names of a model's required fields."""
    model = getattr(_models(), name)
    found = []
    for attribute, field in model.attribute_map.items():
        setter = getattr(model, attribute).fset
        if any(isinstance(c, str) and "must not be `None`" in c for c in setter.__code__.co_consts):
            found.append(field)
    return found


def fields(name: str) -> dict[str, str]:
    """The fields of a model: JSON name to type name."""
    model = getattr(_models(), name)
    return {model.attribute_map[attribute]: kind for attribute, kind in model.openapi_types.items()}


@functools.lru_cache(maxsize=1_024)
def schema(name: str) -> Json:
    """The schema of a model, with nested schemas in place. A recursive model has a recursive schema."""
    found: Json = {"type": "object", "properties": {}, "required": required_fields(name)}
    _building[name] = found
    for field, kind in fields(name).items():
        found["properties"][field] = _typed(kind, field)
    del _building[name]
    return found


_building: dict[str, Json] = {}


def _typed(kind: str, field: str) -> Json:
    if kind in SCALARS:
        return SCALARS[kind]
    if kind == "object":
        return {"x-kubernetes-preserve-unknown-fields": True}
    if found := _MAP.fullmatch(kind):
        inner = _typed(found[1], "")
        if found[1] == "str" and field in _QUANTITIES:
            inner = {"type": "string", "x-quantity": True}
        return {"type": "object", "additionalProperties": inner}
    if found := _LIST.fullmatch(kind):
        return {"type": "array", "items": _typed(found[1], "")}
    return _building.get(kind) or schema(kind)


_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
}
_NAMES = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}


def decode_types(value: Any, shape: Json, path: str = "") -> list[str]:
    """Decode as Go does: drop nulls, convert numeric quantities to strings, in place. Returns the type errors."""
    expected = shape.get("type")
    if expected is None:
        return []
    fits = isinstance(value, _TYPES[expected]) and (expected == "boolean" or not isinstance(value, bool))
    if not fits:
        kind = _NAMES.get(type(value), "null")
        return [f"json: cannot unmarshal {kind} into Go struct field {path} of type {expected}"]
    faults: list[str] = []
    if isinstance(value, dict):
        properties: Json = shape.get("properties") or {}
        additional = shape.get("additionalProperties")
        for key in list(value):
            inner = properties.get(key) or additional
            if inner is None:
                continue
            if value[key] is None:
                del value[key]
                continue
            if inner.get("x-quantity") and isinstance(value[key], int | float) and not isinstance(value[key], bool):
                value[key] = str(value[key])
            faults += decode_types(value[key], inner, f"{path}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            faults += decode_types(item, shape["items"], f"{path}[{index}]")
    return faults


def missing(value: Any, shape: Json, path: str) -> list[str]:
    """The paths of required fields that are missing below `path`."""
    found: list[str] = []
    if isinstance(value, dict):
        found += [f"{path}.{name}" for name in shape.get("required") or () if name not in value]
        properties: Json = shape.get("properties") or {}
        additional = shape.get("additionalProperties")
        for key, item in value.items():
            inner = properties.get(key) or additional
            if inner is not None:
                found += missing(item, inner, f"{path}.{key}")
    elif isinstance(value, list) and "items" in shape:
        for index, item in enumerate(value):
            found += missing(item, shape["items"], f"{path}[{index}]")
    return found
