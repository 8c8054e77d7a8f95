"""Structural schemas: pruning, decoding, defaulting and validation of objects by the schema of their kind.

Rules from the Kubernetes documentation (custom resources, "Specifying a structural schema") and from apiextensions
pkg/apiserver/{schema,validation}. A library validates custom resources by OpenAPI 3.0.
"""

import copy
import functools
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from muster.local.apiserver.errors import Cause, required, unsupported, wrong
from muster.local.apiserver.schema.builtin_schemas import schema as model

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
_CAUSES_SHOWN = 20
_NOT_IN_OPENAPI = ("description", "default", "example", "format", "title")


def _below(value: Any, schema: Json) -> Iterator[tuple[Any, Any, Json]]:
    """What a value holds that its schema describes: key or index, the field or item, and the schema of that."""
    if isinstance(value, dict):
        properties: Json = schema.get("properties") or {}
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
        known = {*(schema.get("properties") or ()), *(_EMBEDDED if embedded else ())}
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
        for key, inner in (schema.get("properties") or {}).items():
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
    """The paths of required fields that are missing below `path`."""
    wanted = (shape.get("required") or ()) if isinstance(value, dict) else ()
    found = [_at(path, name) for name in wanted if name not in value]
    for key, item, inner in _below(value, shape):
        found += missing(item, inner, _at(path, key))
    return found


def schema_faults(schema: Any, where: str, *, typed: bool = True) -> list[Cause]:
    """Validate a schema: nested schemas must be objects with known types.

    `typed` means that the schema was checked against its model. The model leaves items and additionalProperties open,
    so these are checked against it here.
    """
    if not isinstance(schema, dict):
        return [wrong(where, _shown(schema), "must be a schema, which is an object")]
    causes = [] if typed else [wrong(where, "...", fault) for fault in decode_types(schema, model("V1JSONSchemaProps"))]
    if causes:
        return causes
    kind = schema.get("type")
    if kind is not None and kind not in _TYPES:
        causes.append(unsupported(f"{where}.type", kind, tuple(_TYPES)))
    for name, below in (schema.get("properties") or {}).items():
        causes += schema_faults(below, f"{where}.properties[{name}]")
    for name in ("additionalProperties", "items"):
        below = schema.get(name)
        if below is not None and not (name == "additionalProperties" and isinstance(below, bool)):
            causes += schema_faults(below, f"{where}.{name}", typed=False)
    return causes


def _plain(schema: Any) -> Any:
    """The schema in OpenAPI 3.0: the x-kubernetes extensions are removed, int-or-string is translated."""
    if isinstance(schema, list):
        return [_plain(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    kept: Json = {}
    for key, value in schema.items():
        if key.startswith("x-kubernetes-") or key in _NOT_IN_OPENAPI or (key == "pattern" and not _readable(value)):
            continue
        if key in ("properties", "patternProperties") and isinstance(value, dict):
            kept[key] = {name: _plain(inner) for name, inner in value.items()}
        elif key in ("items", "additionalProperties", "not", "allOf", "anyOf", "oneOf"):
            kept[key] = _plain(value)
        else:
            kept[key] = value
    if schema.get("x-kubernetes-int-or-string"):
        kept.pop("type", None)
        kept["allOf"] = [*kept.get("allOf", ()), {"anyOf": [{"type": "integer"}, {"type": "string"}]}]
    return kept


def _readable(pattern: str) -> bool:
    """Whether Python has the classes of a pattern of Go's RE2. One that it cannot read is not enforced here."""
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 200 else text[:200] + "..."


def _cause(error: Any) -> Cause:
    path = functools.reduce(_at, error.absolute_path, "")
    if error.validator == "required":
        return required(_at(path, next(name for name in error.validator_value if name not in error.instance)))
    return wrong(path, _shown(error.instance), f"breaks the rule {error.validator}: {_shown(error.validator_value)}")


def make_schema_validator(schema: Json) -> Callable[[Json], list[Cause]]:
    """A function that validates an object by a schema. The validator is created at its first use."""

    @functools.cache
    def compiled() -> Any:
        from openapi_schema_validator import OAS30Validator

        return OAS30Validator(_plain(schema))

    return lambda obj: [_cause(error) for error in itertools.islice(compiled().iter_errors(obj), _CAUSES_SHOWN)]
