"""The manifest reference, made from the models: `python -m tests.manifest_reference` prints it.

With ``--status`` it prints the fields of the status, as ``kubectl explain experiment.status`` does.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from pydantic import BaseModel

from muster.api.gang import MAX_MEMBERS
from muster.api.manifest.aichor import NEAREST, AIchorManifest
from muster.api.manifest.edits import EDITS
from muster.api.manifest.experiment import ExperimentSpec
from muster.api.manifest.groups import DependsOn
from muster.api.manifest.load import ManifestMetadata
from muster.api.manifest.naming import MAX_POD_NAME
from muster.api.manifest.operators import joined, operators
from muster.api.manifest.resources import Resources
from muster.api.manifest.yaml import reader as text
from muster.api.names import API_VERSION, KIND
from muster.api.schema.structural import Schema, structural
from muster.api.status import ExperimentStatus
from muster.api.values import durations
from muster.api.values.durations import PATTERN as DURATION_PATTERN
from muster.api.values.fields import (
    ABSOLUTE_PATH,
    IMAGE,
    LABEL_1035,
    LABEL_1123,
    LABEL_KEY,
    LABEL_VALUE,
    MEANING,
    SUBDOMAIN,
    TEXT,
    WORD,
)
from muster.api.values.timestamps import PATTERN as TIME

_WORDS: Final[dict[str, str]] = {
    "string": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "object": "mapping",
}
_FORMS: Final[dict[str, str]] = {
    LABEL_1035: "name",
    LABEL_1123: "label",
    SUBDOMAIN: "subdomain",
    LABEL_VALUE: "label value",
    LABEL_KEY: "label key",
    WORD: "word",
    IMAGE: "image",
    ABSOLUTE_PATH: "path",
    TEXT: "line",
    TIME: "time",
    DURATION_PATTERN: "duration",
}
"""The words of the page for the forms of texts."""
_UNREAD: Final = "Ignored"
"""How the meaning of a field begins that is read and has no effect."""
_DEEPER: Final = frozenset(("resources", "dependsOn"))  # fields of types that have a section of their own
SEVERAL: Final = 3
"""Operators from which on a field of their types is described once."""
_EXACT: Final = 1 << 53
"""Whole numbers beyond this are no bound that a person would meet."""
_OWN: Final = (
    "suspend",
    "cancel",
    "startup",
    "restartPolicy",
    "clocks",
    "successPolicy",
    "ttlAfterFinished",
    "assist",
    "progressEndpoint",
    "managedBy",
    "template",
)

_INTRODUCTION: Final = f"""\
<!-- Made by `python -m tests.manifest_reference` from the models in muster/api. Do not edit. -->
# Manifest reference

Muster reads two kinds of manifest, with the same fields unless marked. `muster run` and `muster submit` take both,
`kubectl` only the second.

- `kind: AIchorManifest`, `apiVersion` 0.2.1, 0.2.2 or 0.2.3.
- `kind: {KIND}`, `apiVersion: {API_VERSION}`.

Every other field is an error; inside `accelerators.gpu` it is a warning. A file has at most
{text.MAX_BYTES // 1024} KiB, {text.MAX_NODES:,} values and {text.MAX_DEPTH} levels. Aliases, anchors, merge keys, tags,
repeated keys and several documents are errors. Numbers are decimal: `010`, `0x10`, `1_000` and `190:20:30` are text,
and so are `yes`, `no`, `on` and `off`.

Sizes are in GB of 10^9 bytes. Durations read like `1w 2d 5h 6m 20s`: each unit at most once, longest first, at most
{durations.format_duration(durations.MAX_SECONDS)}.

## Forms

{"; ".join(f"**{word}**: {MEANING[form]}" for form, word in _FORMS.items())}.

## Operators

Muster runs {", ".join(f"`{name}`" for name in operators())}. It does not run:

"""
_ONLY: Final = f"Only in `kind: {KIND}`, but for `restartPolicy.backoffLimit`. A clock that is absent does not run."
_STATUS: Final = """
## status

Written by Muster, read by you. `kubectl explain experiment.status` and `python -m tests.manifest_reference --status`
print each field with its meaning.
"""
_NAMES: Final = f"""
## Names

The name of an experiment is a name as above. Pods are called `<experiment>-<type>-<job>-<pod>-<5 characters>`, of at
most {MAX_POD_NAME} characters. An AIchorManifest's `name` may be any text: the nearest allowed name is taken, with a
warning. An experiment has at most {MAX_MEMBERS:,} members.
"""


def manifest_reference() -> str:
    """The whole page."""
    spec = structural(ExperimentSpec)
    aichor = {name: field for name, field in spec["properties"].items() if name not in _OWN}
    own = {name: field for name, field in spec["properties"].items() if name in _OWN}
    required = spec["required"]
    parts = [
        _INTRODUCTION,
        "\n".join(f"- `{name}`: the nearest is {nearest}" for name, nearest in NEAREST.items()),
        _NAMES,
        _section("AIchorManifest", "", _without(structural(AIchorManifest), "spec")),
        _section("Experiment", "metadata", structural(ManifestMetadata)),
        _section("spec", "spec", {"properties": aichor, "required": required}),
        _section("spec: Muster's own fields", "spec", {"properties": own, "required": []}, _ONLY),
        *_of_types(),
        _section("dependsOn of every type", "dependsOn[]", structural(DependsOn)),
        _section("resources of every type", "resources", structural(Resources)),
        _older(),
        _edits(),
        _STATUS,
    ]
    return "\n".join(part.strip("\n") + "\n" for part in parts)


def status_reference() -> str:
    """Return the fields of the status, each with its type and meaning."""
    return _section("status", "status", structural(ExperimentStatus)).strip("\n") + "\n"


def _of_types() -> Iterator[str]:
    """Yield a section for each model of types, and one for the fields that several models have with one meaning."""
    found = [(title, list(_rows(_shallow(model), prefix))) for title, prefix, model in _types()]
    placed: dict[tuple[str, str, str], list[str]] = {}
    for title, rows in found:
        for where, kind, meaning in rows:
            titles = placed.setdefault((f"`{where.rpartition('.')[2]}", kind, meaning), [])
            titles.extend([title] if title not in titles else [])
    several = {row: titles for row, titles in placed.items() if len(titles) >= SEVERAL}
    for title, rows in found:
        own = [(where, *row) for where, *row in rows if (f"`{where.rpartition('.')[2]}", *row) not in several]
        yield _listed(f"spec.types: {title}", own)
    every = len(found)
    lines = [
        (name, kind if len(titles) == every else f"{kind}; {', '.join(titles)}", meaning)
        for (name, kind, meaning), titles in several.items()
    ]
    yield _listed("spec.types: fields of several operators", lines)


def _types() -> Iterator[tuple[str, str, type[BaseModel]]]:
    """The heading, the place and the model of the types; operators that share a model share a section."""
    for model in dict.fromkeys(each.types() for each in operators().values()):
        named = [name for name, each in operators().items() if each.types() is model]
        inner = operators()[named[0]].each
        yield joined(named), "spec.types.<name>" if inner else "spec.types", inner() if inner else model


def _older() -> str:
    """The spellings of older manifests that are read, as the declarations of the operators have them."""
    capitals: dict[str, list[str]] = {}
    masters = [name for name, each in operators().items() if "master" in each.respelled]
    for operator, each in operators().items():
        for name in each.respelled:
            if name != "master":
                capitals.setdefault(name, []).append(operator)
    other = {name: name.capitalize() if name.islower() else name.lower() for name in capitals}
    same = f"`Master` and `Worker` of the same resources ({', '.join(masters)})"
    lines = [
        "\n## Older spellings\n",
        "| written | read as |",
        "|---|---|",
        *(f"| `{other[name]}` ({', '.join(named)}) | `{name}` |" for name, named in capitals.items()),
        f"| {same} | one `worker`, its count the sum; Master is rank 0 |",
        "| `Master` and `Worker` with different resources | two groups, `master` with the first ranks |",
        "",
        "Each is a warning that shows the 0.2.3 form.",
    ]
    return "\n".join(lines)


def _edits() -> str:
    """What an edit of each field does while the experiment runs."""
    alike: dict[tuple[str, str], list[str]] = {}
    for name, field in EDITS.items():
        alike.setdefault((field.edit, field.about), []).append(f"`spec.{name}`")
    lines = [
        "\n## Edits while it runs\n",
        "| an edit is | of | because |",
        "|---|---|---|",
        *(f"| {edit} | {', '.join(names)} | {about} |" for (edit, about), names in alike.items()),
        "",
        "A refused edit is an error of `kubectl apply`. One that the kind of an older release lets through waits for",
        "the next epoch (`EditPending`). One that cannot be run, as a failure rule for an unknown type, is not",
        "followed (`EditRefused`).",
    ]
    return "\n".join(lines)


def _without(schema: Schema, name: str) -> Schema:
    return {**schema, "properties": {key: field for key, field in schema["properties"].items() if key != name}}


def _shallow(model: type[BaseModel]) -> Schema:
    """Return the schema of a type without the fields of ``_DEEPER``, which have sections of their own."""

    def strip(source: Schema) -> Schema:
        node = dict(source)
        if "properties" in node:
            node["properties"] = {
                name: {**child, "properties": {}, "items": {"type": "object"}} if name in _DEEPER else strip(child)
                for name, child in node["properties"].items()
            }
        if isinstance(node.get("items"), dict):
            node["items"] = strip(node["items"])
        return node

    return strip(structural(model))


def _section(title: str, prefix: str, schema: Schema, preface: str = "") -> str:
    return _listed(title, list(_rows(schema, prefix)), preface)


def _listed(title: str, rows: Sequence[tuple[str, ...]], preface: str = "") -> str:
    lines = [f"\n## {title}\n"]
    if preface:
        lines.append(f"{preface}\n")
    unread = [where for where, _, meaning in rows if meaning.startswith(_UNREAD)]
    lines += [f"- {where} ({kind}): {meaning}" for where, kind, meaning in rows if not meaning.startswith(_UNREAD)]
    if unread:
        lines.append(f"\nIgnored: {', '.join(unread)}.")
    return "\n".join(lines)


def _rows(schema: Schema, prefix: str) -> Iterator[tuple[str, str, str]]:
    """Yield a row per field; fields of several siblings that are the same are shown once, below all of them."""
    required = schema.get("required", ())
    alike: dict[str, list[str]] = {}
    for name, field in schema.get("properties", {}).items():
        alike.setdefault(json.dumps(field.get("properties")), []).append(name)
    for name, field in schema.get("properties", {}).items():
        where = f"{prefix}.{name}" if prefix else name
        yield f"`{where}`", _type(field) + _default(field, required=name in required), field.get("description", "")
        same = alike[json.dumps(field.get("properties"))]
        if len(same) == 1 or "properties" not in field:
            yield from _rows(field, where)
        elif name == same[-1]:
            yield from _rows(field, f"{prefix}.<{'|'.join(same)}>")
        if isinstance(field.get("items"), dict):
            yield from _rows(field["items"], f"{where}[]")


def _default(field: Schema, *, required: bool) -> str:
    if required:
        return "; required"
    default = field.get("default")
    return "" if default is None or default == {} else f"; default `{json.dumps(default)}`"


def _type(field: Schema) -> str:
    kind = field.get("type", "")
    if "enum" in field:
        return " ".join(f"`{choice}`" for choice in field["enum"])
    if kind == "array":
        return f"list of {_type(field['items'])}, at most {field['maxItems']}"
    if kind == "object" and isinstance(field.get("additionalProperties"), dict):
        return "mapping to text"
    pattern = field.get("pattern")
    words = _FORMS.get(pattern, MEANING.get(pattern, _WORDS[kind])) if isinstance(pattern, str) else _WORDS[kind]
    return words if kind == "string" else words + _limits(field)


def _limits(field: Schema) -> str:
    bounds = ((">" if field.get("exclusiveMinimum") else ">=", field.get("minimum")), ("<=", field.get("maximum")))
    return "".join(f", {sign} {bound:,}" for sign, bound in bounds if bound is not None and abs(bound) < _EXACT)


if __name__ == "__main__":
    sys.stdout.write(status_reference() if "--status" in sys.argv[1:] else manifest_reference())
