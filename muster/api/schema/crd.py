"""The CustomResourceDefinition of Experiment, made from the models: ``python -m muster.api.schema.crd`` prints it.

The API server refuses what the models refuse, as far as a schema and CEL rules can express it, so that a mistake is an
answer to ``kubectl apply`` and not a failed experiment. Every text and list of the spec has a bound, which is what
keeps the rules within the server's cost limit. What is to run (operator, image, command, types, template) cannot
change; its policies (suspend, timeout, clocks, ...) can.

On every status write the API server walks the whole schema, spec and status, evaluates every rule, and keeps an owner
for every field. So (measured by ``make real-bench``) rules are few, pod templates are not described, the status is
described and not checked (see ``status_schema``), and types, template and status each have one owner as a whole
(x-kubernetes-map-type: atomic).

What the schema cannot express ends the experiment as InvalidSpec within a second: CEL does not see fields that the
schema does not name, and so neither types of any name nor a type too many of an operator that has named ones.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import yaml

from muster.api.manifest.aichor import Debug
from muster.api.manifest.edits import FROZEN
from muster.api.manifest.experiment import ExperimentSpec
from muster.api.manifest.naming import MAX_POD_NAME
from muster.api.manifest.operators import joined, only_for, operators
from muster.api.names import GROUP, KIND, PLURAL, VERSION, name_suffix, pod_name
from muster.api.schema.structural import (
    Schema,
    free_operators,
    group_names,
    named_types,
    only_there,
    own_names,
    status_schema,
    structural,
    types_schema,
)
from muster.api.values.fields import LABEL_1035

MAX_NAME: Final = MAX_POD_NAME - len(pod_name("", "x", 0, 0, name_suffix("", 0)))
"""Longest name any experiment can have: one whose only type has a name of one letter."""

IMMUTABLE: Final = ("operator", "image", "command", "types", "template")
"""Fields with a transition rule of their own."""
FROZEN_TOGETHER: Final = tuple(name for name in FROZEN if name not in IMMUTABLE)
"""Optional fields that rarely occur: one rule for all of them costs less on every status write."""


@dataclass(frozen=True, slots=True)
class Checks:
    """CEL expressions that must all hold, each with its message, as one rule."""

    pairs: tuple[tuple[str, str], ...]

    @property
    def rule(self) -> str:
        """Return an expression that is true if all hold."""
        return " && ".join(f"({expression})" for expression, _ in self.pairs)

    @property
    def message(self) -> str:
        """Return the message of the first that does not hold, as a CEL expression; the last message if all hold."""
        *first, (_, last) = self.pairs
        return "".join(f"!({expression}) ? '{text}' : " for expression, text in first) + f"'{last}'"


def _is(names: Iterable[str]) -> str:
    return " || ".join(f"self.operator == '{each}'" for each in names)


def _is_or_are(words: Sequence[str]) -> str:
    return f"{joined(words)} {'are' if len(words) > 1 else 'is'}"


def _fields(here: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the checks of fields that not all operators have, where these may be the operator."""
    found = {field: f"!has(self.{field})" for each in operators().values() for field in each.fields}
    having = {field: [name for name, each in operators().items() if field in each.fields] for field in found}
    for debugger in Debug.model_fields:
        found[f"debug.{debugger}"] = f"!has(self.debug) || !has(self.debug.{debugger})"
        having[f"debug.{debugger}"] = [name for name, each in operators().items() if each.debugger == debugger]
    for field, absent in found.items():
        some = [name for name in here if name in having[field]]
        if some != here:
            yield " || ".join([_is(some)] * bool(some) + [absent]), f"{field} is {only_for(having[field])}"


def _apart(operator: str, names: list[str]) -> Checks:
    """Return the checks for an operator whose types have names that no others can have."""
    types = [f"types.{name}" for name in names if named_types()[operator][name].is_required()]
    need = " && ".join(f"has(self.{each})" for each in types)
    others = " && ".join(f"!has(self.types.{name})" for name in group_names() if name not in named_types()[operator])
    only = f"operator {operator} has the types {joined(names)} only"
    return Checks(((need, f"operator {operator} needs {joined(types)}"), (others, only), *_fields([operator])))


def _others() -> Checks:
    pairs = []
    for operator, names in own_names().items():
        words = [f"types.{name}" for name in names]
        absent = " && ".join(f"!has(self.{each})" for each in words)
        pairs.append((absent, f"{_is_or_are(words)} {only_for([operator])}"))
    return Checks((*pairs, *_fields([name for name in operators() if name not in own_names()])))


def _closed_types() -> Checks:
    """Return the checks of required and allowed types, if these have names of their own."""
    had = {operator: types for operator, types in named_types().items() if operator not in own_names()}
    needed = {operator: {name for name in types if types[name].is_required()} for operator, types in had.items()}
    names = group_names()
    pairs = []
    for name in names:
        need = [operator for operator, found in needed.items() if name in found]
        if need:
            rule = f"has(self.types.{name})" if len(need) == len(had) else f"!({_is(need)}) || has(self.types.{name})"
            subject = f"operators {joined(need)} need" if len(need) > 1 else f"operator {need[0]} needs"
            pairs.append((rule, f"{subject} types.{name}, in lower case"))
    for operator, found in had.items():
        if others := [name for name in names if name not in found]:
            absent = " && ".join(f"!has(self.types.{name})" for name in others)
            message = (
                f"operator {operator} has the {'types' if len(found) > 1 else 'type'} {joined(sorted(found))} only"
            )
            pairs.append((f"self.operator != '{operator}' || {absent if len(others) == 1 else f'({absent})'}", message))
    free = f"{_is_or_are(only_there())} {only_for(free_operators())}"
    return Checks((*pairs, *((_without(name, only_there()), free) for name in names)))


def _without(name: str, fields: list[str]) -> str:
    absent = " && ".join(f"!has(self.types.{name}.{field})" for field in fields)
    return f"!has(self.types.{name}) || ({absent})"


APART: Final = {operator: _apart(operator, names) for operator, names in own_names().items()}
OTHERS: Final = _others()
CLOSED: Final = _closed_types()


def _spec_rule() -> dict[str, str]:
    """Return one rule for all that depends on the operator: each rule is evaluated on every status write, too."""
    rule = f"({OTHERS.rule}) && ({_is(free_operators())} || ({CLOSED.rule}))"
    message = f"!({OTHERS.rule}) ? ({OTHERS.message}) : ({CLOSED.message})"
    for operator, checks in APART.items():
        rule = f"{_is([operator])} ? ({checks.rule}) : ({rule})"
        message = f"{_is([operator])} ? ({checks.message}) : {message}"
    return {"rule": rule, "message": "the types and fields do not fit the operator", "messageExpression": message}


def _same(name: str) -> tuple[str, str]:
    """Return the rule of an optional field that cannot be added, removed or changed."""
    rule = f"has(self.{name}) == has(oldSelf.{name}) && (!has(self.{name}) || self.{name} == oldSelf.{name})"
    return rule, f"{name} cannot change; create another experiment"


_TEMPLATE_RULE: Final = (
    "has(self.template) == has(oldSelf.template)",
    "template cannot change; create another experiment",
)
"""A rule of an optional field is not evaluated when the field is added or removed; this one is."""
KEPT: Final = Checks((_TEMPLATE_RULE, *(_same(name) for name in FROZEN_TOGETHER)))
RESOURCE_RULE: Final = ("has(self.ramRatio) != has(self.memory)", "give exactly one of ramRatio and memory")
_SPAN: Final = "matches('^[0-9]{1,9}[hms]$')"
_DEFAULT: Final = "!has(self.initial) || !has(self.max) || self.initial == '1s' && self.max == '5m'"
BACKOFF_RULE: Final = (
    f"{_DEFAULT} || !self.initial.{_SPAN} || !self.max.{_SPAN} || duration(self.initial) <= duration(self.max)",
    "initial is longer than max: raise max or lower initial",
)
"""Durations of one term, the defaults first because they cost nothing; CEL knows no weeks and days, and no spaces.
A span that overflows it is refused, too. The API server tries a rule on the default of its object (`{}`) without the
defaults of the fields in it."""
SAME_FAILURE_RULE: Final = ("self != 1", "one failure is not the same again: write 2 or more, or 0 for never")

COLUMNS: Final = (
    ("Phase", "string", ".status.phase", 0, "Summary of the conditions."),
    ("Reason", "string", ".status.reason", 0, "Reason of this phase, in one word."),
    ("Ready", "string", ".status.ready", 0, "Arrived ranks, or ready members, of those expected."),
    ("Restarts", "integer", ".status.restarts", 0, "Gang restarts counted against the limit."),
    ("Deadline", "string", ".status.deadline", 0, "When the total clock (timeout) runs out."),
    ("Age", "date", ".metadata.creationTimestamp", 0, "Time since the experiment was created."),
    ("Operator", "string", ".spec.operator", 1, "The framework that runs it."),
    ("Coordinator", "string", ".status.coordinator", 1, "Address of the coordinator."),
    ("Message", "string", ".status.message", 1, "What it waits for, or how it ended."),
)


def custom_resource_definition() -> dict[str, Any]:
    """Return the whole object."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": PLURAL,
                "singular": KIND.lower(),
                "shortNames": ["exp"],
                "categories": ["muster"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [_column(*column) for column in COLUMNS],
                    "schema": {"openAPIV3Schema": experiment_schema()},
                }
            ],
        },
    }


def experiment_schema() -> Schema:
    """Return the structural schema of the whole object."""
    spec = structural(ExperimentSpec)
    spec["properties"]["types"] = {"description": spec["properties"]["types"]["description"], **types_schema()}
    for name in ("types", "template"):
        spec["properties"][name]["x-kubernetes-map-type"] = "atomic"
    for name in IMMUTABLE:
        rule = "self == oldSelf", f"{name} cannot change; create another experiment"
        spec["properties"][name]["x-kubernetes-validations"] = _validations(*rule)
    _add_resource_rules(spec)
    together = {"rule": KEPT.rule, "message": "what pods are made of cannot change", "messageExpression": KEPT.message}
    spec["x-kubernetes-validations"] = [_spec_rule(), together]
    its_name = {"type": "string", "maxLength": MAX_NAME, "pattern": LABEL_1035}
    restarts = spec["properties"]["restartPolicy"]["properties"]
    restarts["backoff"]["x-kubernetes-validations"] = _validations(*BACKOFF_RULE)
    restarts["sameFailureLimit"]["x-kubernetes-validations"] = _validations(*SAME_FAILURE_RULE)
    return {
        "type": "object",
        "description": "A distributed experiment, run as one gang.",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object", "properties": {"name": its_name}},
            "spec": spec,
            "status": status_schema(),
        },
    }


def as_yaml(definition: dict[str, Any]) -> str:
    """Return the file's text."""
    body = yaml.dump(definition, Dumper=BlockDumper, sort_keys=False, width=120, allow_unicode=True)
    return f"# Made by `python -m muster.api.schema.crd` from the models in muster/api. Do not edit.\n{body}"


class BlockDumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""

    def ignore_aliases(self, _data: Any) -> bool:
        """Return True: repeated parts are written out."""
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


BlockDumper.add_representer(str, _text)


def _column(name: str, kind: str, json_path: str, priority: int, description: str) -> dict[str, Any]:
    column: dict[str, Any] = {"name": name, "type": kind, "jsonPath": json_path, "description": description}
    return {**column, "priority": priority} if priority else column


def _validations(rule: str, message: str) -> list[dict[str, str]]:
    return [{"rule": rule, "message": message}]


def _add_resource_rules(node: Schema) -> None:
    properties = node.get("properties", {})
    if "ramRatio" in properties:
        node["x-kubernetes-validations"] = _validations(*RESOURCE_RULE)
    for child in (*properties.values(), node.get("items"), node.get("additionalProperties")):
        if isinstance(child, dict):
            _add_resource_rules(child)


if __name__ == "__main__":
    sys.stdout.write(as_yaml(custom_resource_definition()))
