"""The CustomResourceDefinition is made from the models, is structural, and refuses what the models refuse."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import celpy
import pytest
from celpy.adapter import json_to_cel
from openapi_schema_validator import OAS30Validator

from muster.api.manifest.experiment import ExperimentSpec
from muster.api.manifest.load import experiment_object, load_manifest
from muster.api.schema.crd import MAX_NAME, as_yaml, custom_resource_definition, experiment_schema
from muster.api.schema.structural import structural
from muster.api.status import ExperimentStatus

ROOT = Path(__file__).parents[2]
CORPUS = Path(__file__).parent / "corpus"
LOADABLE = sorted([*(CORPUS / "valid").glob("*.yaml"), *(CORPUS / "legacy").glob("*.yaml")])
SCHEMA = experiment_schema()


def nodes(node: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, node
    for name, child in node.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            yield from nodes(node[key], f"{path}[]")


def refusals(obj: dict[str, Any]) -> list[str]:
    """The API server's errors for a new object: those of the schema, else those of the CEL rules."""
    found = [error.message for error in OAS30Validator(SCHEMA).iter_errors(obj)]
    return found or list(broken_rules(SCHEMA, obj))


def broken_rules(schema: dict[str, Any], value: Any) -> Iterator[str]:
    for rule in schema.get("x-kubernetes-validations", ()):
        if "oldSelf" not in rule["rule"] and not evaluate(rule["rule"], value):
            yield str(evaluate(rule["messageExpression"], value)) if "messageExpression" in rule else rule["message"]
    if isinstance(value, dict):
        for name, child in schema.get("properties", {}).items():
            if name in value:
                yield from broken_rules(child, value[name])
    if isinstance(value, list):
        for item in value:
            yield from broken_rules(schema["items"], item)


def evaluate(rule: str, value: Any, **others: Any) -> Any:
    """What a rule of CEL is of a value, and of ``oldSelf`` where it is given."""
    environment = celpy.Environment()
    program = environment.program(environment.compile(rule))
    return program.evaluate({name: json_to_cel(each) for name, each in {"self": value, **others}.items()})


def posted(path: Path) -> dict[str, Any]:
    loaded = load_manifest(path.read_text(encoding="utf-8"), filename=path.name)
    obj: dict[str, Any] = json.loads(json.dumps(experiment_object(loaded, name="e", namespace="default")))
    return obj


@pytest.mark.drift
def test_the_file_in_deploy_is_up_to_date() -> None:
    written = (ROOT / "deploy" / "crds" / "experiments.muster.dev.yaml").read_text(encoding="utf-8")
    assert written == as_yaml(custom_resource_definition()), (
        "run: python -m muster.api.schema.crd > deploy/crds/experiments.muster.dev.yaml"
    )


def test_the_status_has_a_path_of_its_own() -> None:
    (version,) = custom_resource_definition()["spec"]["versions"]
    assert version["subresources"] == {"status": {}}


def test_the_schema_is_structural_and_every_size_is_bounded() -> None:
    unbounded = []
    for path, node in nodes(SCHEMA):
        assert not node.keys() & {"$ref", "anyOf", "oneOf", "allOf", "const", "title", "patternProperties"}, path
        assert node["type"] in ("object", "array", "string", "integer", "number", "boolean"), path
        assert not ("properties" in node and "additionalProperties" in node), path
        if node["type"] == "string" and "enum" not in node and "maxLength" not in node:
            unbounded.append(path)
        if node["type"] == "array" and "maxItems" not in node:
            unbounded.append(path)
        if "additionalProperties" in node and "maxProperties" not in node:
            unbounded.append(path)
        if "properties" not in node and node["type"] == "object" and path != ".metadata":
            assert "additionalProperties" in node or node.get("x-kubernetes-preserve-unknown-fields"), path
        if "exclusiveMinimum" in node:
            assert node["exclusiveMinimum"] is True
            assert "minimum" in node
    assert unbounded == [".apiVersion", ".kind"]


def test_the_status_is_described_and_not_checked() -> None:
    status = SCHEMA["properties"]["status"]
    assert status.keys() == {"description", "type", "x-kubernetes-map-type", "x-kubernetes-preserve-unknown-fields"}
    for name, field in structural(ExperimentStatus)["properties"].items():
        assert f"\n{name}: {field['description']}" in status["description"]


def test_what_cannot_change_and_the_status_have_one_owner_each() -> None:
    atomic = {path for path, node in nodes(SCHEMA) if node.get("x-kubernetes-map-type") == "atomic"}
    assert atomic == {".spec.types", ".spec.template", ".status"}


def test_rules_are_few() -> None:
    """Each is evaluated on every status write."""
    spec = SCHEMA["properties"]["spec"]
    assert "x-kubernetes-validations" not in SCHEMA
    assert len(spec["x-kubernetes-validations"]) == 2


def test_every_field_is_described_and_every_pattern_compiles() -> None:
    for path, node in nodes(SCHEMA["properties"]["spec"], "spec"):
        if not path.endswith("[]"):
            assert node.get("description"), path
        if "pattern" in node:
            re.compile(node["pattern"])


@pytest.mark.parametrize("path", LOADABLE, ids=lambda path: path.stem)
def test_the_schema_accepts_every_manifest_that_loads(path: Path) -> None:
    assert refusals(posted(path)) == []


@pytest.mark.parametrize(
    ("file", "path", "value", "says"),
    [
        ("jax-gpu", "spec.operator", "tf", "'tf' is not one of"),
        ("jax-gpu", "spec.operator", "kuberay", "operator kuberay needs types.Head and types.Workers"),
        ("kuberay-groups", "spec.operator", "jobset", "types.Head and types.Workers are only for operator kuberay"),
        ("kuberay-groups", "spec.operator", "jax", "types.Head and types.Workers are only for operator kuberay"),
        (
            "jax-gpu",
            "spec.types",
            {"Worker": {}},
            "operators jax, pytorch and xgboost need types.worker, in lower case",
        ),
        ("jobset-mixed", "spec.operator", "pytorch", "completions and parallelisms are only for operator jobset"),
        ("jax-gpu", "spec.rayVersion", "2.10", "rayVersion is only for operator kuberay"),
        ("jax-gpu", "spec.debug", {"jupyter": {}}, "debug.jupyter is only for operator kuberay"),
        ("jax-gpu", "spec.types.worker.count", -1, "-1 is less than the minimum of 0"),
        ("jax-gpu", "spec.types.worker.resources.memory", 3, "give exactly one of ramRatio and memory"),
        ("jax-gpu", "spec.types.worker.resources.cpus", 0, "less than or equal to the minimum of 0"),
        ("jax-gpu", "spec.types.worker.resources", {}, "give exactly one of ramRatio and memory"),
        ("jax-gpu", "spec.types.master", {"resources": {"memory": 1}}, "operator jax has the type worker only"),
        ("jax-gpu", "spec.timeout", "2h 1d", "does not match"),
        ("jax-gpu", "spec.command", "a\x00", "does not match"),
        ("jax-gpu", "metadata.name", "x" * (MAX_NAME + 1), "is too long"),
        ("jax-gpu", "metadata.name", "a.b", "does not match '^[a-z]([a-z0-9-]*[a-z0-9])?$'"),
        ("jax-gpu", "spec.restartPolicy", {"backoff": {"initial": "10m", "max": "5m"}}, "initial is longer than max"),
        ("jax-gpu", "spec.restartPolicy", {"backoff": {"initial": "2h", "max": "59m"}}, "initial is longer than max"),
        ("jax-gpu", "spec.restartPolicy", {"sameFailureLimit": 1}, "one failure is not the same again"),
    ],
)
def test_the_schema_refuses_what_the_models_refuse(file: str, path: str, value: Any, says: str) -> None:
    obj = posted(CORPUS / "valid" / f"{file}.yaml")
    *parents, last = path.split(".")
    node = obj
    for part in parents:
        node = node[part]
    node[last] = value
    assert says in " ".join(refusals(obj))


GROWING = (("0s", "0s"), ("0s", "5m"), ("60s", "1m"), ("1h 30m", "2h"), ("1d", "1w"), ("5s", "1h 5s"))


@pytest.mark.parametrize(
    "policy",
    [
        *({"backoff": {"initial": initial, "max": longest}} for initial, longest in GROWING),
        *({"sameFailureLimit": limit} for limit in (0, 2, 100)),
    ],
    ids=str,
)
def test_a_back_off_that_grows_or_is_zero_and_any_other_number_of_same_failures_are_accepted(
    policy: dict[str, Any],
) -> None:
    obj = posted(CORPUS / "valid" / "jax-gpu.yaml")
    obj["spec"]["restartPolicy"] = policy
    assert refusals(obj) == []
    read = ExperimentSpec.read(obj["spec"]).restart_policy
    assert read.model_dump(mode="json", by_alias=True, exclude_unset=True) == policy


def test_defaults_keep_the_rules_as_they_are_written() -> None:
    """The API server refuses a CRD whose default breaks a rule; it does not fill the default's own fields first."""
    for path, node in nodes(SCHEMA):
        if "default" in node:
            assert list(broken_rules(node, node["default"])) == [], path
