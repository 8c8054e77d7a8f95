"""From the JSON schema of a model to the one structural schema Kubernetes takes.

A model is a pydantic model (what people write) or a msgspec struct (what Muster writes). pydantic writes ``$ref``,
``anyOf`` with null, ``const`` and JSON Schema's numeric ``exclusiveMinimum``; a CustomResourceDefinition
(apiextensions.k8s.io/v1) allows none of these. The reference page is printed from the same flat form.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from muster.api.manifest.operators import joined, operators
from muster.api.status import ExperimentStatus
from muster.api.values.fields import LABEL_1035
from muster.api.values.timestamps import PATTERN as TIME
from muster.api.wire.structs import schema_of

Schema = dict[str, Any]

_KEPT: Final = (
    "type",
    "format",
    "description",
    "enum",
    "default",
    "nullable",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "required",
    "x-kubernetes-preserve-unknown-fields",
)
_GROUP: Final = re.compile(LABEL_1035.replace("$", r"\Z"))
_NULLABLE: Final = frozenset(("rayStartParams",))
"""Fields that may be null (docs.aichor.ai: "optional, can be empty")."""


def structural(model: type[BaseModel] | type[msgspec.Struct]) -> Schema:
    """Return the flat schema of a model. A struct's has no defaults: the API server fills in nothing of Muster's."""
    raw = schema_of(model) if issubclass(model, msgspec.Struct) else model.model_json_schema(by_alias=True)
    return _flat(raw, raw.get("$defs", {}))


def types_schema() -> Schema:
    """Return the schema of ``spec.types`` for every operator at once.

    The named types are checked by the API server. An operator may also have types of any name, and a schema with
    properties may not describe others: those pass unchecked, and are checked where the object is read.
    """
    properties = {name: {**free_type(), "description": _type_words(name)} for name in group_names()}
    for operator, names in own_names().items():
        shape = structural(operators()[operator].types())["properties"]
        for name in names:
            properties[name] = shape[name]
            if "name" in shape[name].get("items", {}).get("properties", {}):
                shape[name].update({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]})
    return {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 32,
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": properties,
    }


def free_operators() -> list[str]:
    """Return the operators with types of any name."""
    return [name for name, each in operators().items() if each.each]


def free_type() -> Schema:
    """Return a type of these, which has all fields that a type of equal members has of any operator."""
    (model,) = {each.each() for each in operators().values() if each.each}
    return structural(model)


def named_types() -> dict[str, dict[str, FieldInfo]]:
    """Return the types of each operator, if these have names of their own."""
    closed = {name: each.types() for name, each in operators().items() if each.each is None}
    return {
        operator: {field.alias or name: field for name, field in model.model_fields.items()}
        for operator, model in closed.items()
    }


def group_names() -> list[str]:
    """Return the names of types that an operator with types of any name may have, too."""
    return sorted({name for found in named_types().values() for name in found if _GROUP.match(name)}, reverse=True)


def own_names() -> dict[str, list[str]]:
    """Return by operator the names that no type of another has: its types are no groups of equal members."""
    found = {operator: [name for name in types if not _GROUP.match(name)] for operator, types in named_types().items()}
    return {operator: names for operator, names in found.items() if names}


def only_there() -> list[str]:
    """Return the fields of types of any name that types of equal members have of no other operator."""
    known = {
        field
        for operator, types in named_types().items()
        for name, shape in structural(operators()[operator].types())["properties"].items()
        if name in types and _GROUP.match(name)
        for field in shape["properties"]
    }
    return [name for name in free_type()["properties"] if name not in known]


def _type_words(name: str) -> str:
    """Return what the type of that name is to each operator."""
    by_words: dict[str, list[str]] = {}
    for operator, types in named_types().items():
        if name in types:
            by_words.setdefault(types[name].description or "", []).append(operator)
    needs = "".join(f"{joined(named)}: {words} " for words, named in by_words.items())
    return f"{needs}{joined(free_operators())}: a type like any other."


def status_schema() -> Schema:
    """Return the status for the API server: an object of any content, its fields described in words.

    Only musterd may write it (RBAC), within bounds, and it checks what it reads. For each value that a schema describes
    the API server builds a validator on every write: with its fields described, a status write of 8 members allocates
    2.4 MB instead of 1.0. One owner for the whole: owners of single fields would be half of a small object.
    """
    full = structural(ExperimentStatus)
    fields = "\n".join(f"{name}: {_words(field)}" for name, field in full["properties"].items())
    return {
        "description": f"{full['description']}\n{fields}",
        "type": "object",
        "x-kubernetes-map-type": "atomic",
        "x-kubernetes-preserve-unknown-fields": True,
    }


def _words(field: Schema) -> str:
    """Return the description of a field, with the fields of the objects in it."""
    inner = field.get("items", field).get("properties", {})
    more = f" Each has {', '.join(inner)}." if "items" in field and inner else ""
    return f"{field['description']}{more}"


def _flat(node: Mapping[str, Any], defs: Mapping[str, Any]) -> Schema:
    node = _resolved(node, defs)
    flat: Schema = {key: node[key] for key in _KEPT if key in node}
    if "const" in node:
        flat["enum"] = [node["const"]]
    for limit, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if limit in flat:
            flat[bound], flat[limit] = flat[limit], True
    for bound in ("minimum", "maximum", "default"):
        if isinstance(flat.get(bound), float) and flat[bound].is_integer():
            flat[bound] = int(flat[bound])
    if flat.get("type") == "integer":
        flat["format"] = "int64"
    if flat.get("pattern") == TIME:
        flat["format"] = "date-time"
    default = flat.get("default")
    if isinstance(default, dict) and node.get("properties"):
        flat["default"] = {}
    elif isinstance(default, list | dict) or default in (None, ""):
        flat.pop("default", None)
    if "properties" in node:
        flat["properties"] = {name: _flat(child, defs) for name, child in node["properties"].items()}
        for name in _NULLABLE & flat["properties"].keys():
            flat["properties"][name]["nullable"] = True
    values = [*node.get("patternProperties", {}).values(), node.get("additionalProperties")]
    if isinstance(values[0], Mapping):  # a structural schema cannot state what keys look like
        flat["additionalProperties"] = _flat(values[0], defs)
    if "items" in node:
        flat["items"] = _flat(node["items"], defs)
    return {key: flat[key] for key in ("description", *flat) if key in flat}


def _resolved(node: Mapping[str, Any], defs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the node with references followed and "or null" dropped. Its own keys override those of the reference."""
    while True:
        choices = [choice for choice in node.get("anyOf", ()) if choice.get("type") != "null"]
        if len(choices) == 1:
            inner = choices[0]
        elif "$ref" in node:
            inner = defs[node["$ref"].removeprefix("#/$defs/")]
        else:
            return node
        node = {**inner, **{key: value for key, value in node.items() if key not in ("anyOf", "$ref")}}
