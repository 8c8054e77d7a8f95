"""The field ``template``: it stays the plain mapping it was written as, and is merged over what Muster makes.

The models that check it are imported for a manifest that has one: most have none, and building them takes longer than
checking everything else.

The merge is strategic: mappings by key, named lists by name, everything else replaced. The template has the last word.
It is applied twice: a type's template over the experiment's, and the result over the pod that Muster renders. An
element that both sides have stays at its place in the list and new elements follow, so that Muster's environment
variables come before those of the template, which may then refer to them as ``$(NAME)``.

Kubernetes merges some of these lists element by element where this replaces the element (core/v1 patchStrategy): a
variable or a volume has exactly one source, and two sources merged into one element would be rejected.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from pydantic import BaseModel, ValidationInfo, WithJsonSchema, WrapValidator

from muster.api.names import AICHOR_KIND, API_VERSION, KIND
from muster.api.values.fields import Wrong


@dataclass(frozen=True, slots=True)
class CheckedBy:
    """Marks a field that stays the plain mapping it was written as. ``model`` returns the model that checks it."""

    model: Callable[[], type[BaseModel]]


def _model() -> type[BaseModel]:
    from muster.api.manifest.template.pod import PodTemplate

    return PodTemplate


def _check(value: Any, handler: Callable[[Any], Any], info: ValidationInfo) -> Any:
    context = info.context or {}
    if context.get("kind") == AICHOR_KIND:
        hint = f"write kind: {KIND}, apiVersion: {API_VERSION}, and metadata.name"
        raise Wrong(f"an {AICHOR_KIND} has no template", hint)
    context = {"operator": info.data.get("operator"), **context}
    _model().model_validate(value, by_alias=True, by_name=False, context=context)
    return handler(value)


Template = Annotated[
    dict[str, Any],
    CheckedBy(_model),
    WrapValidator(_check),
    WithJsonSchema({"type": "object", "maxProperties": 2, "x-kubernetes-preserve-unknown-fields": True}),
]
"""A pod template as written: checked, and immutable by convention."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Rule for the merge of the list in one field.

    ``keys``: elements with the same values of these fields are one element; without keys, elements are appended that
    the list does not hold yet. ``inside``: the rules of an element's own fields; None replaces the element as a whole.
    """

    keys: tuple[str, ...] = ()
    inside: "Rules | None" = None


@dataclass(frozen=True, slots=True)
class Rules:
    """The fields of a mapping that have rules of their own: lists, and mappings that hold such lists."""

    lists: Mapping[str, Rule] = field(default_factory=dict)
    mappings: Mapping[str, "Rules"] = field(default_factory=dict)


_PLAIN: Final = Rules()

CONTAINER: Final = Rules(
    lists={
        "env": Rule(("name",)),
        "envFrom": Rule(),
        "volumeMounts": Rule(("mountPath",)),
        "volumeDevices": Rule(("devicePath",)),
        "ports": Rule(("containerPort", "protocol")),
    },
    mappings={
        "resources": Rules(lists={"claims": Rule(("name",))}),
        "securityContext": Rules(mappings={"capabilities": Rules(lists={"add": Rule()})}),
    },
)
POD_SPEC: Final = Rules(
    lists={
        "containers": Rule(("name",), CONTAINER),
        "initContainers": Rule(("name",), CONTAINER),
        "volumes": Rule(("name",)),
        "imagePullSecrets": Rule(("name",)),
        "resourceClaims": Rule(("name",)),
        "hostAliases": Rule(("ip",)),
        "tolerations": Rule(),
        "topologySpreadConstraints": Rule(("topologyKey", "whenUnsatisfiable")),
        "readinessGates": Rule(("conditionType",)),
    }
)
POD: Final = Rules(mappings={"spec": POD_SPEC})


def merge(below: Mapping[str, Any], above: Mapping[str, Any], rules: Rules = POD) -> dict[str, Any]:
    """Return ``above`` merged over ``below``. Neither is changed; the result may share parts with both."""
    merged = dict(below)
    for name, value in above.items():
        under = merged.get(name)
        if isinstance(value, Mapping):
            merged[name] = merge(under if isinstance(under, Mapping) else {}, value, rules.mappings.get(name, _PLAIN))
        elif name in rules.lists and _is_list(value):
            merged[name] = _merge_list(under if _is_list(under) else (), value, rules.lists[name])
        else:
            merged[name] = value
    return merged


def _merge_list(below: Any, above: Any, rule: Rule) -> list[Any]:
    merged = list(below)
    places = {_identity(element, rule): place for place, element in enumerate(merged)}
    for element in above:
        place = places.setdefault(_identity(element, rule), len(merged))
        under = merged[place] if place < len(merged) else {}
        if rule.inside is not None and isinstance(element, Mapping):
            element = merge(under, element, rule.inside)
        merged[place : place + 1] = [element]
    return merged


def _identity(element: Any, rule: Rule) -> object:
    """Return a key that is equal for elements that are one. Without the keys, only equal elements are one."""
    if rule.keys and isinstance(element, Mapping) and rule.keys[0] in element:
        return tuple(_frozen(element.get(key)) for key in rule.keys)
    return _frozen(element)


def _frozen(value: Any) -> object:
    """Return a hashable equal of a JSON value; true and 1, and 1 and 1.0, differ as they do in JSON."""
    if isinstance(value, Mapping):
        return frozenset((name, _frozen(inner)) for name, inner in value.items())
    if _is_list(value):
        return tuple(_frozen(inner) for inner in value)
    return type(value), value


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)
