"""The fields that Kubernetes' own kinds have, by the models of its generated client: their names and their types.

A real API server checks more (`make real` applies the same renderings); this needs no server.
"""

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml
from openapi_schema_validator import OAS30Validator

from muster.local.apiserver.schema import decode_types, prune, schema
from tests.deploy.chart.conftest import Object

OPERATOR = Path(__file__).parent / "prometheus_operator.yaml"

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
REMOVED = {"spec.strategy.rollingUpdate"}
"""Fields in which null has a meaning: nothing may be left of what the API server has set."""


def problems(obj: Object) -> list[str]:
    """What the kind does not have."""
    if obj["apiVersion"].startswith("monitoring.coreos.com/"):
        return monitoring(obj)
    if obj["kind"] not in KINDS.get(obj["apiVersion"], ()):
        return [f"no such kind: {obj['apiVersion']} {obj['kind']}"]
    return checked(obj, f"V1{obj['kind']}")


def checked(obj: Object, model: str) -> list[str]:
    """What an object has that the model of that name does not."""
    shape, found = schema(model), deepcopy(obj)
    unknown = [f"{path}: no such field" for path in prune(found, shape)]
    nulls = [f"{path}: null" for path in _nulls(found, ()) if path not in REMOVED]
    return [*unknown, *nulls, *decode_types(found, shape)]


def _nulls(value: Any, path: tuple[str, ...]) -> Iterator[str]:
    if value is None:
        yield ".".join(path)
    elif isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _nulls(each, (*path, str(key)))


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
