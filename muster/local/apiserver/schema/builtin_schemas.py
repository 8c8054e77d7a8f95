"""Schemas of built-in kinds, made from the typed models of kubernetes_asyncio.

Each model class lists its fields with their types (`openapi_types`, `attribute_map`), and the setter of a required
field refuses None. The classes are imported at the first use, which takes 0.3 s, and not at the start.
"""

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
    """Return the name of the model class of a built-in kind."""
    return "CoreV1Event" if kind == "Event" else f"{version.capitalize()}{kind}"


def _models() -> Any:
    from kubernetes_asyncio.client import models

    return models


def required_fields(name: str) -> list[str]:
    """Return the JSON names of a model's required fields."""
    model = getattr(_models(), name)
    found = []
    for attribute, field in model.attribute_map.items():
        setter = getattr(model, attribute).fset
        if any(isinstance(c, str) and "must not be `None`" in c for c in setter.__code__.co_consts):
            found.append(field)
    return found


def fields(name: str) -> dict[str, str]:
    """Return the fields of a model: JSON name to type name."""
    model = getattr(_models(), name)
    return {model.attribute_map[attribute]: kind for attribute, kind in model.openapi_types.items()}


@functools.lru_cache(maxsize=1_024)
def schema(name: str) -> Json:
    """Return the schema of a model, with nested schemas in place. A recursive model has a recursive schema."""
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
