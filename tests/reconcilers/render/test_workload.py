"""The podSets of a plan, and the name that holds a hash of them."""

from dataclasses import replace

import pytest

from muster.reconcilers.render.pod import placed
from muster.reconcilers.render.workload import pod_sets, render_workload, workload_name
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import PodSpec, Toleration
from muster.state.vocabulary.workload import PodSetPlacement
from tests.fakes.plans import gang


def test_the_name_changes_with_what_decides_quota_and_flavor_and_with_nothing_else() -> None:
    name = workload_name(gang())
    assert name.startswith("moe-")
    others = [
        gang(5),
        gang(requests={"cpu": "2"}),
        gang(node_selector={"pool": "a"}),
        gang(tolerations=(Toleration("gpu", "Exists", "", ""),)),
        gang(uid="another"),
    ]
    assert len({name, *map(workload_name, others)}) == 6
    same = [gang(command="python3 other.py"), gang(limit=7), gang(generation=2)]
    assert {workload_name(each) for each in same} == {name}


def test_a_template_counts_as_far_as_kueue_reads_it() -> None:
    plan = gang()
    group = plan.groups[0]
    sidecar = {"name": "log", "image": "log:1", "resources": {"requests": {"cpu": "100m"}}, "env": [{"name": "A"}]}
    spec = {"initContainers": [{**sidecar, "restartPolicy": "Always"}], "affinity": {"nodeAffinity": {}}}
    template = {"metadata": {"annotations": {"a": "b"}}, "spec": spec}
    (pod_set,) = pod_sets(replace(plan, groups=(replace(group, template=template),)))
    rendered = pod_set["template"]["spec"]
    assert rendered["affinity"] == {"nodeAffinity": {}}
    assert rendered["initContainers"] == [
        {"name": "log", "image": "log:1", "resources": {"requests": {"cpu": "100m"}}, "restartPolicy": "Always"}
    ]
    assert "metadata" not in pod_set["template"]


def test_a_group_without_members_has_no_pod_set_and_one_in_turns_has_those_that_run_together() -> None:
    groups = (Group("head", 1, 0, PodSpec("i", "c"), 0), Group("worker", 2, 5, PodSpec("i", "c"), 0, parallelism=2))
    assert [(each["name"], each["count"]) for each in pod_sets(gang(groups=groups))] == [("worker", 4)]


def test_a_plan_without_a_queue_has_no_workload() -> None:
    with pytest.raises(ValueError, match="has no queue"):
        render_workload(gang(), None)


def test_a_plan_is_the_same_where_the_flavors_ask_nothing() -> None:
    plan: Plan = gang()
    assert placed(plan, (PodSetPlacement("worker"),)) is plan
    assert placed(plan, ()) is plan
