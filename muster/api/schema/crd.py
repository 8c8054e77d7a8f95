"""The CustomResourceDefinition of Experiment, made from the models: ``python -m muster.api.schema.crd`` prints it.

The API server refuses what the models refuse, as far as a schema and CEL rules can say it, so that a mistake is an
answer to ``kubectl apply`` and not a failed experiment. Every text and list has a bound, which is what keeps the
rules within the server's cost limit. What is to run (operator, image, command, types, template) cannot change; how it
is looked after (suspend, timeout, clocks, ...) can. Pod templates are kept as they are and not described here: the
schema of a pod would be ten times as large as everything else, and the API server walks it on every status write.
"""

import sys
from typing import Any, Final

import yaml

from muster.api.manifest.experiment import ExperimentSpec
from muster.api.names import GROUP, KIND, PLURAL, VERSION, name_suffix, pod_name
from muster.api.naming import MAX_POD_NAME
from muster.api.schema.structural import Schema, structural, types_schema
from muster.api.status import ExperimentStatus
from muster.api.values.fields import LABEL_1035, MEANING

MAX_NAME: Final = MAX_POD_NAME - len(pod_name("", "x", 0, 0, name_suffix("", 0)))
"""Longest name any experiment can have: one whose only type has a name of one letter."""

IMMUTABLE: Final = ("operator", "image", "command", "types", "template")
_WORKER_ONLY: Final = "self.operator in ['jax', 'pytorch', 'xgboost']"


def _only_jobset(name: str) -> str:
    absent = f"!has(self.types.{name}.completions) && !has(self.types.{name}.parallelisms)"
    return f"!({_WORKER_ONLY}) || !has(self.types.{name}) || ({absent})"


SPEC_RULES: Final = (
    (
        "self.operator != 'kuberay' || (has(self.types.Head) && has(self.types.Workers))",
        "operator kuberay needs types.Head and types.Workers",
    ),
    (
        "self.operator == 'kuberay' || (!has(self.types.Head) && !has(self.types.Workers))",
        "types.Head and types.Workers are only for operator kuberay",
    ),
    (
        f"!({_WORKER_ONLY}) || has(self.types.worker)",
        "operators jax, pytorch and xgboost need types.worker, in lower case",
    ),
    (
        "self.operator != 'kuberay' || (!has(self.types.worker) && !has(self.types.master))",
        "operator kuberay has the types Head and Workers only",
    ),
    ("self.operator != 'jax' || !has(self.types.master)", "operator jax has the type worker only"),
    (_only_jobset("worker"), "completions and parallelisms are only for operator jobset"),
    (_only_jobset("master"), "completions and parallelisms are only for operator jobset"),
    ("self.operator == 'kuberay' || !has(self.rayVersion)", "rayVersion is only for operator kuberay"),
    (
        "!has(self.debug) || !(self.operator == 'kuberay' ? has(self.debug.vscode) : has(self.debug.jupyter))",
        "debug.jupyter is only for operator kuberay, debug.vscode for every other",
    ),
)
TRANSITION_RULES: Final = (
    ("has(self.template) == has(oldSelf.template)", "template cannot change; create another experiment"),
)
"""A rule of an optional field is not evaluated when the field is added or removed; this one is."""
RESOURCE_RULES: Final = (("has(self.ramRatio) != has(self.memory)", "give exactly one of ramRatio and memory"),)
NAME_RULES: Final = (
    (
        f"size(self.metadata.name) <= {MAX_NAME} && self.metadata.name.matches('{LABEL_1035}')",
        f"the name has at most {MAX_NAME} characters: {MEANING[LABEL_1035]}",
    ),
)

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
    """The whole object."""
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
    """The structural schema of the whole object."""
    spec = structural(ExperimentSpec)
    description = spec["properties"]["types"]["description"]
    spec["properties"]["types"] = {"description": description, **types_schema()}
    for name in IMMUTABLE:
        spec["properties"][name]["x-kubernetes-validations"] = _rules(
            (("self == oldSelf", f"{name} cannot change; create another experiment"),)
        )
    _add_resource_rules(spec)
    spec["x-kubernetes-validations"] = _rules(SPEC_RULES + TRANSITION_RULES)
    status = structural(ExperimentStatus)
    status["properties"]["conditions"].update({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]})
    return {
        "type": "object",
        "description": "A distributed experiment, run as one gang.",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        },
        "x-kubernetes-validations": _rules(NAME_RULES),
    }


def as_yaml(definition: dict[str, Any]) -> str:
    """The file's text."""
    body = yaml.dump(definition, Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)
    return f"# Made by `python -m muster.api.schema.crd` from the models in muster/api. Do not edit.\n{body}"


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, _data: Any) -> bool:
        """Repeated parts are written out."""
        return True


def _column(name: str, kind: str, json_path: str, priority: int, description: str) -> dict[str, Any]:
    column: dict[str, Any] = {"name": name, "type": kind, "jsonPath": json_path, "description": description}
    return {**column, "priority": priority} if priority else column


def _rules(rules: tuple[tuple[str, str], ...]) -> list[dict[str, str]]:
    return [{"rule": rule, "message": message} for rule, message in rules]


def _add_resource_rules(node: Schema) -> None:
    properties = node.get("properties", {})
    if "ramRatio" in properties:
        node["x-kubernetes-validations"] = _rules(RESOURCE_RULES)
    children = [*properties.values(), node.get("items"), node.get("additionalProperties")]
    for child in children:
        if isinstance(child, dict):
            _add_resource_rules(child)


if __name__ == "__main__":
    sys.stdout.write(as_yaml(custom_resource_definition()))
