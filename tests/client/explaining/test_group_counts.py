"""The count of each group in the tree of `muster get`: of its members, not of the pods that exist."""

from pathlib import Path
from typing import Any

import pytest

from muster.api.manifest.experiment import parse_experiment
from muster.api.names import LABEL_GROUP
from muster.client import Explanation
from muster.client.explaining.tree import sizes_of, tree
from muster.client.member import member_of
from muster.client.snapshot import snapshot_of
from muster.kinds.experiments import plan_of
from muster.kinds.manifests.load import load_any, object_of
from tests.client.localserver import labels, running


def shown(spec: dict[str, Any], ready: str, pods: dict[str, int], phase: str = "Running") -> list[str]:
    """The tree where so many pods of each group exist and the first is not ready."""
    meta = {"namespace": "team", "name": "mine"}
    seen = snapshot_of({"metadata": meta, "spec": spec, "status": {"phase": phase, "ready": ready}})
    names = [(group, rank) for group, number in pods.items() for rank in range(number)]
    found = [
        {"metadata": {"labels": labels("mine", rank) | {LABEL_GROUP: group}}, "status": running() if rank else {}}
        for group, rank in names
    ]
    return tree(Explanation(seen, tuple(map(member_of, found)), ()), 10)


def groups_shown(*run: Any) -> list[str]:
    """The lines of the groups."""
    return [line[4:] for line in shown(*run)[1:] if line[1:4] == "── "]


RAY: Any = {"types": {"Head": {}, "Workers": [{"name": "small", "count": 2}, {"name": "none"}]}}
PARTS: Any = {"types": {"a": {"count": 2, "completions": 4}, "b": {}, "c": {"count": 0}}}


@pytest.mark.parametrize(
    ("spec", "ready", "pods", "groups"),
    [
        ({"types": {"worker": {"count": 8}}}, "0/8", {"worker": 3}, ["worker  2/8 ready"]),
        ({"types": {"worker": {"resources": {"tpu": {}}}}}, "0/16", {"worker": 3}, ["worker  2/16 ready"]),
        (PARTS, "0/9", {"a": 3}, ["a  2/8 ready", "b  0/1 ready"]),
        (PARTS, "0/36", {"a": 3}, ["a  2 of 3 pods ready"]),
        (RAY, "0/4", {"head": 1, "small": 2}, ["head  0/1 ready", "small  1/2 ready", "submitter  0/1 ready"]),
        ({}, "0/0", {"worker": 1}, ["worker  0 of 1 pod ready"]),
        (PARTS, "0/9", {}, ["no member has a pod"]),
    ],
)
def test_a_group_is_counted_by_the_members_that_it_is_to_have(
    spec: dict[str, Any], ready: str, pods: dict[str, int], groups: list[str]
) -> None:
    assert groups_shown(spec, ready, pods) == groups


def test_the_count_above_the_members_is_that_of_the_members() -> None:
    assert "2/3 ready" in shown({}, "1/3", {"worker": 3})[0]


def test_after_the_end_a_group_whose_pods_are_gone_in_part_is_counted_by_its_pods() -> None:
    assert groups_shown(PARTS, "9/9", {"a": 8}, "Succeeded") == ["a  8 members"]
    assert groups_shown(PARTS, "9/9", {"a": 3}, "Succeeded") == ["a  3 pods"]


ROOT = Path(__file__).parents[3]
CORPUS = [*ROOT.glob("tests/api/corpus/*/*.yaml"), *ROOT.glob("examples/*/manifest.yaml")]


@pytest.mark.parametrize(
    "file", sorted(each for each in CORPUS if "invalid" not in each.parts), ids=lambda each: each.stem
)
def test_the_sizes_that_are_read_without_the_models_are_those_of_the_plan(file: Path) -> None:
    obj = object_of(load_any(file.read_text()), name="mine", namespace="team")
    obj["metadata"]["uid"] = "u"
    plan = plan_of(parse_experiment(obj))
    sizes = {each.name: each.size for each in plan.groups}
    seen = snapshot_of({**obj, "status": {"ready": f"0/{plan.size}"}})
    assert sizes_of(seen) in (sizes, {}), "or they are not known"
    assert sizes_of(seen) or "tpu" in file.read_text()
