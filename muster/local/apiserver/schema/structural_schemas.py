"""Structural schemas of custom resources: pruning, defaulting, validation.

Rules from the Kubernetes documentation (custom resources, "Specifying a structural schema") and from apiextensions
pkg/apiserver/{schema,validation}. A library validates by OpenAPI 3.0; this module translates its errors into
Kubernetes' messages, and checks the list types, which OpenAPI does not have.
"""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from muster.local.apiserver.errors import Cause, required, unsupported, wrong
from muster.local.apiserver.schema.builtin_schemas import decode_types
from muster.local.apiserver.schema.builtin_schemas import schema as model

Json = dict[str, Any]
_EMBEDDED = ("apiVersion", "kind", "metadata")
_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_CAUSES_SHOWN = 20


def prune(value: Any, schema: Json, path: str = "", *, embedded: bool = False) -> list[str]:
    """Remove fields that the schema does not declare, in place; returns their paths."""
    lost: list[str] = []
    if isinstance(value, dict):
        properties: Json = schema.get("properties") or {}
        additional = schema.get("additionalProperties")
        keep = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
        embedded = embedded or bool(schema.get("x-kubernetes-embedded-resource"))
        for key in list(value):
            if embedded and key in _EMBEDDED:
                continue
            where = f"{path}.{key}" if path else key
            if key in properties:
                lost += prune(value[key], properties[key], where)
            elif isinstance(additional, dict):
                lost += prune(value[key], additional, where)
            elif not keep and not additional:
                del value[key]
                lost.append(where)
    elif isinstance(value, list):
        items = schema.get("items")
        if isinstance(items, dict):
            for index, item in enumerate(value):
                lost += prune(item, items, f"{path}[{index}]")
    return lost


def fill_defaults(value: Any, schema: Json) -> None:
    """Set the defaults of fields that are missing (or null where null is not allowed), in place."""
    if isinstance(value, dict):
        for key, inner in (schema.get("properties") or {}).items():
            absent = key not in value or (value[key] is None and not inner.get("nullable"))
            if absent and "default" in inner:
                value[key] = copy.deepcopy(inner["default"])
            if key in value:
                fill_defaults(value[key], inner)
        additional = schema.get("additionalProperties")
        if isinstance(additional, dict):
            known = schema.get("properties") or {}
            for key, item in value.items():
                if key not in known:
                    fill_defaults(item, additional)
    elif isinstance(value, list):
        items = schema.get("items")
        if isinstance(items, dict):
            for item in value:
                fill_defaults(item, items)


def _plain(schema: Any) -> Any:
    """The schema in OpenAPI 3.0: the x-kubernetes extensions are removed, int-or-string is translated."""
    if isinstance(schema, list):
        return [_plain(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    kept: Json = {}
    for key, value in schema.items():
        if key == "pattern" and not _readable(value):
            # Go's RE2 has a few classes that Python's re lacks; such a pattern is not enforced here.
            continue
        if key.startswith("x-kubernetes-") or key in ("description", "default", "example", "format", "title"):
            continue
        if key in ("properties", "patternProperties") and isinstance(value, dict):
            kept[key] = {name: _plain(inner) for name, inner in value.items()}
        elif key in ("items", "additionalProperties", "not", "allOf", "anyOf", "oneOf"):
            kept[key] = _plain(value)
        else:
            kept[key] = value
    if schema.get("x-kubernetes-int-or-string"):
        kept.pop("type", None)
        both = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
        kept["allOf"] = [*kept.get("allOf", ()), both]
    return kept


def _readable(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


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
        causes.append(unsupported(f"{where}.type", kind, _TYPES))
    for name, below in (schema.get("properties") or {}).items():
        causes += schema_faults(below, f"{where}.properties[{name}]")
    for name in ("additionalProperties", "items"):
        below = schema.get(name)
        if below is not None and not (name == "additionalProperties" and isinstance(below, bool)):
            causes += schema_faults(below, f"{where}.{name}", typed=False)
    return causes


def _at(parts: Iterator[Any]) -> str:
    path = ""
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 200 else text[:200] + "..."


_KIND_NAMES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}


def _kind(value: Any) -> str:
    return "null" if value is None else _KIND_NAMES.get(type(value), "object")


def _cause(error: Any) -> Cause:
    path = _at(iter(error.absolute_path))
    rule, bound, value = error.validator, error.validator_value, error.instance
    where = f"{path} in body" if path else "<nil> in body"
    match rule:
        case "required":
            missing = next(name for name in bound if name not in value)
            return required(f"{path}.{missing}" if path else missing)
        case "type":
            shown = f'"{_kind(value)}"'
            message = f"Invalid value: {shown}: {where} must be of type {bound}: {shown}"
            return Cause(path, message, "FieldValueTypeInvalid")
        case "enum":
            return unsupported(path, value, [str(b) for b in bound])
        case "pattern":
            return wrong(path, value, f"{where} should match '{bound}'")
        case "minimum":
            return wrong(path, value, f"{where} should be greater than or equal to {bound}")
        case "maximum":
            return wrong(path, value, f"{where} should be less than or equal to {bound}")
        case "minLength":
            return wrong(path, value, f"{where} should be at least {bound} chars long")
        case "maxLength":
            return Cause(path, f"Too long: may not be more than {bound} bytes", "FieldValueTooLong")
        case "minItems":
            return wrong(path, len(value), f"{where} should have at least {bound} items")
        case "maxItems":
            return Cause(path, f"Too many: {len(value)}: must have at most {bound} items", "FieldValueTooMany")
        case "minProperties":
            return wrong(path, len(value), f"{where} should have at least {bound} properties")
        case "maxProperties":
            return Cause(path, f"Too many: {len(value)}: must have at most {bound} properties", "FieldValueTooMany")
    return Cause(path, f"Invalid value: {_shown(value)}: {where} breaks the rule {rule}: {_shown(bound)}")


def check_list_types(value: Any, schema: Json, path: str = "") -> list[Cause]:
    """Duplicate items in lists of type set or map."""
    causes: list[Cause] = []
    if isinstance(value, dict):
        properties: Json = schema.get("properties") or {}
        additional = schema.get("additionalProperties")
        for key, item in value.items():
            inner = properties.get(key) or (additional if isinstance(additional, dict) else None)
            if inner:
                causes += check_list_types(item, inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        kind = schema.get("x-kubernetes-list-type")
        seen: set[str] = set()
        keys: list[str] = schema.get("x-kubernetes-list-map-keys") or []
        for index, item in enumerate(value):
            where = f"{path}[{index}]"
            if kind == "set" or (kind == "map" and isinstance(item, dict)):
                identity = item if kind == "set" else {k: item[k] for k in keys if k in item}
                text = msgspec.json.encode(identity, order="sorted").decode()
                if text in seen:
                    causes.append(Cause(where, f"Duplicate value: {text}", "FieldValueDuplicate"))
                seen.add(text)
            if isinstance(schema.get("items"), dict):
                causes += check_list_types(item, schema["items"], where)
    return causes


def make_schema_validator(schema: Json) -> Callable[[Json], list[Cause]]:
    """A function that validates an object by a schema. The validator is created at its first use."""

    @functools.cache
    def compiled() -> Any:
        from openapi_schema_validator import OAS30Validator

        return OAS30Validator(_plain(schema))

    def check(obj: Json) -> list[Cause]:
        causes: list[Cause] = []
        for error in compiled().iter_errors(obj):
            causes.append(_cause(error))
            if len(causes) == _CAUSES_SHOWN:
                break
        return causes or check_list_types(obj, schema)

    return check
