"""The JSON schema of the values: that of the models, in the form whose refusals are easiest to read.

No references, no titles; a value that may be null has a list of types. Every other value is required, so that a null
(which Helm takes out) is refused by name and not found missing by a template.
"""

from typing import Any

from deploy.helm.values import Values
from deploy.prometheus import values as prometheus

Schema = dict[str, Any]


def schema() -> Schema:
    """Return values.schema.json."""
    made = Values.model_json_schema(by_alias=True)
    definitions = made.pop("$defs")
    plain = _plain(made, definitions)
    rules = plain["properties"]["prometheusRule"]
    rules["properties"] |= prometheus.schema()
    rules["required"] += prometheus.schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **plain}


def defaults() -> dict[str, Any]:
    """Return the values without those that only Helm sets."""
    found = Values().model_dump(by_alias=True)
    found["prometheusRule"] |= prometheus.defaults()
    del found["global"]
    return found


def _plain(node: Schema, definitions: dict[str, Schema], *, listed: bool = False) -> Schema:
    """Return the schema without references. ``listed``: of an item of a list, to which Helm adds no defaults."""
    if "$ref" in node:
        target = definitions[str(node["$ref"]).rpartition("/")[2]]
        node = {**target, **{key: value for key, value in node.items() if key not in ("$ref", "default")}}
    if "anyOf" in node:
        (kind,) = (each for each in node["anyOf"] if each != {"type": "null"})
        kind = _plain(kind, definitions)
        kind = {**kind, "type": [kind["type"], "null"]}
        if "enum" in kind:
            kind["enum"] = [*kind["enum"], None]
        node = {**{key: value for key, value in node.items() if key != "anyOf"}, **kind}
    plain = {key: value for key, value in node.items() if key not in ("title", "required")}
    if "properties" in plain:
        plain["properties"] = {name: _plain(each, definitions) for name, each in plain["properties"].items()}
        known = [name for name, each in plain["properties"].items() if not nullable(each)]
        plain["required"] = list(node.get("required", ())) if listed else known
    if isinstance(plain.get("items"), dict):
        plain["items"] = _plain(plain["items"], definitions, listed=True)
    return plain


def nullable(node: Schema) -> bool:
    """Return True if null is a value, or the value is for Helm alone."""
    return "null" in node["type"] or node.get("description", "").startswith("unused;")
