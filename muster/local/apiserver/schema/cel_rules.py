"""CEL validation rules of CRDs (x-kubernetes-validations): compiled with the CRD, evaluated on each write.

Semantics from the Kubernetes documentation ("Validation rules"): `self` is the value that has the rule, `oldSelf` its
old value. A rule that uses oldSelf is a transition rule, and is skipped if there is no old value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import celpy
from celpy.adapter import json_to_cel
from celpy.celparser import CELParseError
from celpy.evaluation import CELEvalError

from muster.local.apiserver.errors import Cause

Json = dict[str, Any]
_OLD = re.compile(r"\boldSelf\b")
_MENTIONED = re.compile(r"\b(?:self|oldSelf)\b(?:\.([A-Za-z_]\w*)\b(?!\s*\())?")
_REASONS = ("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")
_ABSENT: Any = object()
KEPT = 1_000
"""Compiled rules that are kept by their text: a CRD is compiled when it is checked and when it is served."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One compiled rule; `message` is the error if it does not hold.

    `fields` are the fields of self and oldSelf that it reads, None if its text does not show them. Only these are
    converted for CEL: the conversion of an object costs far more than most rules.
    """

    text: str
    fields: frozenset[str] | None
    program: Any
    transition: bool
    message: str
    message_program: Any
    reason: str
    field_path: str


@dataclass(slots=True)
class Node:
    """The rules of one schema, and the nested schemas that have any."""

    rules: list[Rule] = field(default_factory=list)
    properties: dict[str, Node] = field(default_factory=dict)
    additional: Node | None = None
    items: Node | None = None
    keys: tuple[str, ...] = ()

    def empty(self) -> bool:
        """Whether neither this schema nor a nested one has a rule."""
        return not (self.rules or self.properties or self.additional or self.items)


@lru_cache(maxsize=KEPT)
def _compiled(text: str) -> Any:
    environment = celpy.Environment()
    return environment.program(environment.compile(text))


def _program(text: str, where: str) -> Any:
    try:
        return _compiled(text)
    except CELParseError as failure:
        raise ValueError(f"{where}: the CEL rule {text!r} does not compile: {failure}") from failure


def _fields(text: str) -> frozenset[str] | None:
    found = [match[1] for match in _MENTIONED.finditer(text)]
    return frozenset(found) if all(found) else None


def compile_rules(schema: Json) -> Node:
    """Compile the rules of a schema; ValueError names the first one that does not compile."""
    return _compile(schema, "openAPIV3Schema")


def _compile(schema: Json, where: str) -> Node:
    node = Node(keys=tuple(schema.get("x-kubernetes-list-map-keys") or ()))
    for rule in schema.get("x-kubernetes-validations") or ():
        text = rule["rule"]
        expression = rule.get("messageExpression")
        node.rules.append(
            Rule(
                text=text,
                fields=_fields(f"{text} {expression or ''}"),
                program=_program(text, where),
                transition=bool(_OLD.search(text)) and not rule.get("optionalOldSelf"),
                message=rule.get("message") or f"failed rule: {text}",
                message_program=_program(expression, where) if expression else None,
                reason=rule["reason"] if rule.get("reason") in _REASONS else "FieldValueInvalid",
                field_path=rule.get("fieldPath") or "",
            )
        )
    for name, inner in (schema.get("properties") or {}).items():
        child = _compile(inner, f"{where}.{name}")
        if not child.empty():
            node.properties[name] = child
    for attribute, key in (("additional", "additionalProperties"), ("items", "items")):
        inner = schema.get(key)
        if isinstance(inner, dict):
            child = _compile(inner, f"{where}.{key}")
            if not child.empty():
                setattr(node, attribute, child)
    return node


def _seen(rule: Rule, value: Any) -> Any:
    """The part of a value that a rule reads."""
    if rule.fields is None or not isinstance(value, dict):
        return value
    return {name: value[name] for name in rule.fields if name in value}


def _evaluate(rule: Rule, value: Any, old: Any, path: str) -> Cause | None:
    seen, former = _seen(rule, value), _ABSENT if old is _ABSENT else _seen(rule, old)
    if seen == former:
        # Unchanged values were validated when they were written; kube-apiserver skips them too (ratcheting).
        return None
    activation = {"self": json_to_cel(seen)}
    if former is not _ABSENT:
        activation["oldSelf"] = json_to_cel(former)
    where = path + rule.field_path if path else rule.field_path.removeprefix(".")
    try:
        if rule.program.evaluate(activation):
            return None
    except CELEvalError as failure:
        return Cause(where, f"Invalid value: rule {rule.text!r} cannot be evaluated: {failure.args[0]}")
    message = rule.message
    if rule.message_program is not None:
        try:
            message = str(rule.message_program.evaluate(activation))
        except CELEvalError:
            message = rule.message
    kind = "object" if isinstance(value, dict) else "array" if isinstance(value, list) else None
    shown = f'"{kind}"' if kind else f'"{value}"' if isinstance(value, str) else str(value)
    if rule.reason == "FieldValueForbidden":
        return Cause(where, f"Forbidden: {message}", rule.reason)
    if rule.reason == "FieldValueRequired":
        return Cause(where, f"Required value: {message}", rule.reason)
    return Cause(where, f"Invalid value: {shown}: {message}", rule.reason)


def _old_item(keys: tuple[str, ...], item: Any, old: Any) -> Any:
    """The old item with the same keys in a list of type map. Other lists have no old items."""
    if keys and isinstance(old, list) and isinstance(item, dict):
        for candidate in old:
            if isinstance(candidate, dict) and all(candidate.get(k) == item.get(k) for k in keys):
                return candidate
    return _ABSENT


def _walk(node: Node, value: Any, old: Any, path: str) -> list[Cause]:
    if old is not _ABSENT and value == old:
        return []
    causes: list[Cause] = []
    for rule in node.rules:
        if not (rule.transition and old is _ABSENT):
            cause = _evaluate(rule, value, old, path)
            causes += [cause] if cause is not None else []
    if isinstance(value, dict):
        former: Json = old if isinstance(old, dict) else {}
        for name, item in value.items():
            child = node.properties.get(name) or node.additional
            if child is not None and item is not None:
                causes += _walk(child, item, former.get(name, _ABSENT), f"{path}.{name}" if path else name)
    elif isinstance(value, list) and node.items is not None:
        for index, item in enumerate(value):
            causes += _walk(node.items, item, _old_item(node.keys, item, old), f"{path}[{index}]")
    return causes


def make_validator(schema: Json) -> Callable[[Json, Json | None], list[Cause]]:
    """A function that validates an object, given the old one (None on create), by the rules of a schema.

    Raises ValueError if a rule does not compile.
    """
    tree = compile_rules(schema)

    def rules(obj: Json, old: Json | None) -> list[Cause]:
        if tree.empty():
            return []
        return _walk(tree, obj, _ABSENT if old is None else old, "")

    return rules
