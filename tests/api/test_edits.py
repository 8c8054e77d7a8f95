"""Edits of a running experiment: every field is applied, held for the next epoch, or refused by the API server."""

from typing import Any

import pytest

from muster.api.manifest.edits import EDITS, FROZEN, Edit, changed, shape_of
from muster.api.manifest.experiment import ExperimentSpec
from muster.api.schema.crd import FROZEN_TOGETHER, experiment_schema
from tests.api.test_crd import evaluate

SPEC: dict[str, Any] = {
    "operator": "pytorch",
    "image": "demo:1",
    "command": "python main.py",
    "types": {"worker": {"count": 2, "resources": {"cpus": 1, "ramRatio": 2}}},
}
VALUES: dict[str, tuple[Any, Any]] = {
    "operator": ("pytorch", "xgboost"),
    "image": ("demo:1", "demo:2"),
    "command": ("python main.py", "python other.py"),
    "types": (SPEC["types"], {"worker": {"count": 3, "resources": {"cpus": 1, "ramRatio": 2}}}),
    "rayVersion": ("2.40.0", "2.41.0"),
    "template": ({"metadata": {"labels": {"a": "b"}}}, {"metadata": {"labels": {"a": "c"}}}),
    "tensorboard": ({"enabled": False}, {"enabled": True}),
    "storage": ({"attachExistingPVCs": [{"name": "a", "mountPoint": "/a"}]}, {"attachExistingPVCs": []}),
    "debug": ({"vscode": {"enabled": False}}, {"vscode": {"enabled": True}}),
    "securityContext": ({"ptrace": False}, {"ptrace": True}),
    "gracefulTermination": ({"terminationGracePeriodSeconds": 5}, {"terminationGracePeriodSeconds": 6}),
    "suspend": (False, True),
    "cancel": (False, True),
    "timeout": ("1h", "2h"),
    "activeDeadlineSeconds": (60, 120),
    "clocks": ({}, {"run": {"after": "1h"}}),
    "restartPolicy": ({}, {"backoffLimit": 7}),
    "failurePolicy": ({}, {"rules": []}),
    "successPolicy": ({}, {"operator": "Any"}),
    "ttlAfterFinished": ("1h", "2h"),
    "startup": ({}, {"order": "CoordinatorFirst"}),
    "assist": (False, True),
    "progressEndpoint": (False, True),
    "managedBy": ("muster.dev/muster", "kueue.x-k8s.io/multikueue"),
    "engineName": ("a", "b"),
}


def refused(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """The messages of the transition rules of the spec."""
    schema = experiment_schema()["properties"]["spec"]
    pairs = [(rule, old, new) for rule in schema["x-kubernetes-validations"]]
    for name, child in schema["properties"].items():
        if name in old and name in new:
            pairs += [(rule, old[name], new[name]) for rule in child.get("x-kubernetes-validations", ())]
    return [_message(*pair) for pair in pairs if "oldSelf" in pair[0]["rule"] and not _holds(*pair)]


def _holds(rule: dict[str, str], old: Any, new: Any) -> Any:
    return evaluate(rule["rule"], new, oldSelf=old)


def _message(rule: dict[str, str], old: Any, new: Any) -> str:
    words = rule.get("messageExpression")
    return str(evaluate(words, new, oldSelf=old)) if words else rule["message"]


def test_the_table_has_every_field_of_the_spec() -> None:
    named = {field.alias or name for name, field in ExperimentSpec.model_fields.items()}
    assert set(EDITS) >= named
    assert set(EDITS) - named <= {"failurePolicy"}, "a row of a field that does not exist"
    assert set(VALUES) == set(EDITS)


@pytest.mark.parametrize("name", EDITS)
def test_the_api_server_does_with_an_edit_what_the_table_says(name: str) -> None:
    before, after = VALUES[name]
    old, new = ({**SPEC, name: value} for value in (before, after))
    words = [f"{name} cannot change; create another experiment"] if EDITS[name].edit is Edit.REFUSED else []
    assert refused(old, new) == words
    assert refused(old, old) == []


@pytest.mark.parametrize("name", ["template", *FROZEN_TOGETHER])
def test_what_cannot_change_cannot_be_added_or_removed(name: str) -> None:
    there = {**SPEC, name: VALUES[name][0]}
    assert refused(SPEC, there) == [f"{name} cannot change; create another experiment"]
    assert refused(there, SPEC) == [f"{name} cannot change; create another experiment"]


def shape(**fields: Any) -> str:
    return shape_of(ExperimentSpec.read({**SPEC, **fields}))


@pytest.mark.parametrize("name", [name for name in FROZEN if name != "rayVersion"])
def test_the_shape_of_a_spec_changes_with_what_cannot_change(name: str) -> None:
    assert changed(shape(**{name: VALUES[name][0]}), shape(**{name: VALUES[name][1]})) == (name,)


def test_it_does_not_change_with_anything_else_nor_with_a_default_that_is_written() -> None:
    applied = {name: VALUES[name][1] for name in EDITS if name not in (*FROZEN, "failurePolicy")}
    assert shape(**applied) == shape()
    assert shape(storage={"attachExistingPVCs": []}) != shape()
    counted = {"worker": {"count": 1, "resources": {"cpus": 1, "ramRatio": 2}}}
    assert shape(types=counted) == shape(types={"worker": {"resources": {"ramRatio": 2}}})


def test_a_field_that_an_older_release_did_not_know_is_no_change() -> None:
    assert changed("image=1,command=2", "image=1,command=3,storage=4") == ("command",)
    assert changed("", "image=1") == ()
