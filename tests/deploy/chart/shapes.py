"""The fields that Kubernetes' own kinds have, by the models of its generated client: which names, of which types.

A real API server checks more (`make real` applies the same renderings); this needs no server.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from kubernetes_asyncio.client import models
from openapi_schema_validator import OAS30Validator

from tests.deploy.chart.conftest import Object

OPERATOR = Path(__file__).parent / "prometheus_operator.yaml"

SIMPLE = {"str": str, "int": int, "bool": bool, "float": (int, float), "object": object, "datetime": str}
KINDS = {
    "apps/v1": ("Deployment",),
    "batch/v1": ("CronJob",),
    "v1": ("ConfigMap", "Service", "ServiceAccount"),
    "policy/v1": ("PodDisruptionBudget",),
    "networking.k8s.io/v1": ("NetworkPolicy", "Ingress"),
    "scheduling.k8s.io/v1": ("PriorityClass",),
    "flowcontrol.apiserver.k8s.io/v1": ("FlowSchema",),
    "rbac.authorization.k8s.io/v1": ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
    "apiextensions.k8s.io/v1": ("CustomResourceDefinition",),
}
"""Every kind of the chart but those of the Prometheus operator, whose shapes ``monitoring`` has."""
REMOVED = {("V1DeploymentStrategy", "rollingUpdate")}
"""Fields in which null has a meaning: nothing may be left of what the API server has set."""


def problems(obj: Object) -> list[str]:
    """What the kind does not have."""
    if obj["apiVersion"].startswith("monitoring.coreos.com/"):
        return monitoring(obj)
    if obj["kind"] not in KINDS.get(obj["apiVersion"], ()):
        return [f"no such kind: {obj['apiVersion']} {obj['kind']}"]
    return list(checked(obj, f"V1{obj['kind']}", ""))


def checked(value: Any, kind: str, path: str) -> Iterator[str]:
    """What a value has that a model of that name does not."""
    if items := re.fullmatch(r"list\[(.+)\]", kind):
        if not isinstance(value, list):
            yield f"{path}: a list is expected, not {value!r}"
            return
        for number, each in enumerate(value):
            yield from checked(each, items[1], f"{path}[{number}]")
    elif mapping := re.fullmatch(r"dict\((\w+), (.+)\)", kind):
        if not isinstance(value, dict):
            yield f"{path}: a mapping is expected, not {value!r}"
            return
        for key, each in value.items():
            yield from checked(each, mapping[2], f"{path}.{key}")
    elif kind in SIMPLE:
        if not isinstance(value, SIMPLE[kind]):  # type: ignore[arg-type]
            yield f"{path}: {kind} is expected, not {value!r}"
    else:
        yield from _fields(value, getattr(models, kind, None), kind, path)


def _fields(value: Any, model: Any, kind: str, path: str) -> Iterator[str]:
    if model is None:  # IntOrString and the like
        return
    if not isinstance(value, dict):
        yield f"{path}: {kind} is expected, not {value!r}"
        return
    names = {wire: name for name, wire in model.attribute_map.items()}
    for key, each in value.items():
        if key not in names:
            yield f"{path}.{key}: {kind} has no such field"
        elif each is None and (kind, key) not in REMOVED:
            yield f"{path}.{key}: null"
        elif each is not None:
            yield from checked(each, model.openapi_types[names[key]], f"{path}.{key}")


def monitoring(obj: Object) -> list[str]:
    """What an object of the Prometheus operator's kinds has that its schema does not."""
    schema = _SCHEMAS.get((obj["apiVersion"], obj["kind"]))
    if schema is None:
        return [f"no such kind: {obj['apiVersion']} {obj['kind']}"]
    return [f"{error.json_path}: {error.message}" for error in OAS30Validator(schema).iter_errors(obj)]


def _strict(node: Any) -> Any:
    """Unknown fields are errors, as with `kubectl apply --validate=strict`."""
    if isinstance(node, list):
        return [_strict(each) for each in node]
    if not isinstance(node, dict):
        return node
    made = {key: _strict(each) for key, each in node.items()}
    return {**made, "additionalProperties": False} if "properties" in made and made.get("type") == "object" else made


def _schemas() -> Iterator[tuple[tuple[str, str], Any]]:
    for each in yaml.safe_load_all(OPERATOR.read_text(encoding="utf-8")):
        (version,) = each["spec"]["versions"]
        kind = f"{each['spec']['group']}/{version['name']}", each["spec"]["names"]["kind"]
        yield kind, _strict(version["schema"]["openAPIV3Schema"])


_SCHEMAS = dict(_schemas())
