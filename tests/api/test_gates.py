"""dependsOn and successPolicy: what cannot be used is refused with its place."""

from typing import Any

import pytest

from muster.api.manifest.experiment import ExperimentSpec
from muster.api.manifest.load import load_manifest
from tests.api.test_manifest_rules import complaint, dump

RESOURCES = {"ramRatio": 2}


def document(operator: str, types: dict[str, Any], **spec: Any) -> str:
    body = {"operator": operator, "image": "demo", "command": "python main.py", "types": types, **spec}
    head = {"apiVersion": "muster.dev/v1alpha1", "kind": "Experiment", "metadata": {"name": "run"}}
    return dump({**head, "spec": body})


def typed(*gates: tuple[str, str], **fields: Any) -> dict[str, Any]:
    awaited = [{"group": group, "status": status} for group, status in gates]
    return {"resources": RESOURCES, **({"dependsOn": awaited} if awaited else {}), **fields}


def spec(operator: str, types: dict[str, Any], **fields: Any) -> ExperimentSpec:
    return load_manifest(document(operator, types, **fields)).spec


def test_gates_are_read_in_order() -> None:
    stated = {"eval": [("train", "Complete"), ("data", "Created")], "train": [("data", "Ready")], "data": []}
    groups = spec("jobset", {name: typed(*gates) for name, gates in stated.items()}).groups
    assert {each.name: [(gate.group, gate.status) for gate in each.depends_on] for each in groups} == stated


@pytest.mark.parametrize(
    ("operator", "types", "fields", "said"),
    [
        (
            "jobset",
            {"a": typed(("tarin", "Ready")), "train": typed()},
            {},
            "m.yaml:14:16: spec.types.a.dependsOn[0].group: there is no type tarin, did you mean train?",
        ),
        ("jobset", {"a": typed(("x9", "Ready")), "b": typed()}, {}, "there is no type x9, the types are a, b"),
        ("jobset", {"a": typed(("a", "Ready"))}, {}, "a type cannot wait for itself, remove this entry"),
        (
            "jobset",
            {name: typed((other, "Ready")) for name, other in (("a", "c"), ("b", "a"), ("c", "b"), ("d", "a"))},
            {},
            "m.yaml:14:16: spec.types.a.dependsOn[0].group: a waits for c waits for b waits for a, remove one",
        ),
        ("jobset", {"a": typed(("b", "Serving")), "b": typed()}, {}, "jobset has no coordinator that could serve"),
        ("jobset", {"a": typed(("b", "Done")), "b": typed()}, {}, "it is Created, Ready, Complete or Serving"),
        (
            "pytorch",
            {"master": typed(), "worker": typed(("master", "Complete"))},
            {},
            "spec.types.worker.dependsOn[0].status: the types of operator pytorch work together: none completes before",
        ),
        (
            "pytorch",
            {"master": typed(("worker", "Serving")), "worker": typed()},
            {},
            "spec.types.master.dependsOn[0].group: the coordinator is a member of master, write group: master",
        ),
        (
            "pytorch",
            {"master": typed(("worker", "Created")), "worker": typed()},
            {"startup": {"order": "CoordinatorFirst"}},
            "startup.order CoordinatorFirst lets worker wait for the coordinator, which is here",
        ),
        (
            "kuberay",
            {"Head": typed(), "Workers": [typed(("head", "Ready"), name="w")]},
            {},
            "spec.types.Workers[0].dependsOn: unknown field, it is for every operator but kuberay",
        ),
        (
            "jobset",
            {"a": typed()},
            {"successPolicy": {"targets": ["b"]}},
            "spec.successPolicy.targets[0]: there is no type b",
        ),
        (
            "kuberay",
            {"Head": typed(), "Workers": [typed(name="w")]},
            {"successPolicy": {"operator": "Any"}},
            "spec.successPolicy: a Ray experiment succeeds with its submitter",
        ),
    ],
)  # fmt: skip
def test_what_can_never_hold_is_refused(
    operator: str, types: dict[str, Any], fields: dict[str, Any], said: str
) -> None:
    assert said in complaint(document(operator, types, **fields))


def test_one_cycle_is_one_problem() -> None:
    text = document("jobset", {"a": typed(("b", "Ready")), "b": typed(("a", "Ready")), "c": typed(("b", "Ready"))})
    assert len(complaint(text).splitlines()) == 1


def test_a_way_that_joins_again_is_no_cycle() -> None:
    ways = {"a": ("b", "c"), "b": ("d",), "c": ("d",), "d": ()}
    types = {name: typed(*((other, "Ready") for other in others)) for name, others in ways.items()}
    assert len(spec("jobset", types).groups) == 4


def test_a_worker_may_wait_until_the_master_serves() -> None:
    types = {"master": typed(), "worker": typed(("master", "Serving"))}
    assert spec("xgboost", types, startup={"order": "CoordinatorFirst"}).groups[1].depends_on[0].status == "Serving"


def test_a_success_policy_has_defaults() -> None:
    policy = spec("jobset", {"a": typed()}, successPolicy={}).success_policy
    assert policy is not None
    assert (policy.operator, policy.targets) == ("All", ())
