"""The Workload of an experiment: made once, patched under its resourceVersion, deleted by uid."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from muster.api.errors import ApiError, Conflict, Forbidden, Unreachable, error_of
from muster.api.names import FINALIZER_QUOTA
from muster.reconcilers.render.workload import API_VERSION, workload_name
from muster.reconcilers.result import Outcome
from muster.state.vocabulary.actions import (
    CreatePods,
    DeleteWorkload,
    EnsureWorkload,
    MoveWorkload,
    PatchWorkloadStatus,
    ReadAdmission,
    ReleaseWorkload,
)
from muster.state.vocabulary.plan import Plan, Queue
from muster.state.vocabulary.pod import Toleration
from muster.state.vocabulary.workload import Workload, WorkloadCondition
from muster.watchers.workloads import DECODER
from tests.fakes.engines import Bench
from tests.fakes.history import encode
from tests.fakes.plans import gang, members, pod_path, submitted
from tests.reconcilers.conftest import do, refusal_in

FLAVORS = f"/apis/{API_VERSION}/resourceflavors"
CLASSES = f"/apis/{API_VERSION}/workloadpriorityclasses"


def queued(priority_class: str = "", **changes: Any) -> Plan:
    plan = gang(requests={"cpu": "1", "memory": "128Mi"}, queue=Queue("q", priority_class), **changes)
    assert plan.queue is not None
    return replace(plan, queue=replace(plan.queue, workload=workload_name(plan)))


def path_of(plan: Plan) -> str:
    assert plan.queue is not None
    return f"/apis/{API_VERSION}/namespaces/lab/workloads/{plan.queue.workload}"


def seen(bench: Bench, plan: Plan) -> Workload:
    """Return the Workload as the watch delivers it."""
    page = DECODER.page(encode({"metadata": {"resourceVersion": "1"}, "items": [bench.api.objects[path_of(plan)]]}))
    return next(iter(page.objects.values()))


def admit(bench: Bench, plan: Plan, flavors: Mapping[str, str], **status: Any) -> Workload:
    """Let Kueue admit the Workload with these flavors."""
    true = [
        {"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": "2026-11-22T00:00:00Z"}
        for kind in ("QuotaReserved", "Admitted")
    ]
    assigned = [{"name": "worker", "flavors": dict(flavors), "count": 4}]
    admission = {"clusterQueue": "cq", "podSetAssignments": assigned}
    kept = bench.api.objects[path_of(plan)]
    bench.api.put(path_of(plan), {**kept, "status": {"conditions": true, "admission": admission} | status})
    return seen(bench, plan)


async def made(bench: Bench, plan: Plan) -> Workload:
    await do(bench, EnsureWorkload(), plan)
    return seen(bench, plan)


async def test_the_workload_is_made_once_with_a_pod_set_for_each_group_and_muster_s_finalizer() -> None:
    bench, plan = Bench(), queued()
    first = await do(bench, EnsureWorkload(), plan)
    assert first.workloads
    kept = bench.api.objects[path_of(plan)]
    assert kept["metadata"]["finalizers"] == [FINALIZER_QUOTA]
    assert kept["metadata"]["labels"]["kueue.x-k8s.io/job-uid"] == plan.uid
    (owner,) = kept["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Experiment", plan.uid, True)
    spec = kept["spec"]
    assert spec["queueName"] == "q"
    assert "priority" not in spec
    (pod_set,) = spec["podSets"]
    assert (pod_set["name"], pod_set["count"]) == ("worker", 4)
    (container,) = pod_set["template"]["spec"]["containers"]
    assert container["resources"]["requests"] == {"cpu": "1", "memory": "128Mi"}
    assert set(container) == {"name", "image", "resources"}
    assert await do(bench, EnsureWorkload(), plan) == first


async def test_the_value_of_the_priority_class_is_written_because_kueue_does_not_look_it_up() -> None:
    bench, plan = Bench(), queued("high")
    refused = refusal_in(await do(bench, EnsureWorkload(), plan))
    assert (refused.reason, refused.final) == ("PriorityClassMissing", False)
    bench.api.put(f"{CLASSES}/high", {"kind": "WorkloadPriorityClass", "value": 1000})
    await do(bench, EnsureWorkload(), plan)
    spec = bench.api.objects[path_of(plan)]["spec"]
    assert spec["priority"] == 1000
    assert spec["priorityClassRef"]["name"] == "high"


async def test_kueue_being_down_is_a_refusal_of_its_webhook() -> None:
    bench, plan = Bench(), queued()
    down = 'failed calling webhook "mworkload.kb.io": failed to call webhook: Post "https://x": connection refused'
    bench.api.fail("POST", error_of(500, "InternalError", down))
    refusal = refusal_in(await do(bench, EnsureWorkload(), plan))
    assert (refusal.reason, refusal.passing, refusal.final) == ("WebhookFailed", True, False)


async def test_a_foreign_workload_of_that_name_is_a_refusal() -> None:
    bench, plan = Bench(), queued()
    bench.api.put(path_of(plan), {"kind": "Workload", "spec": {}})
    refusal = refusal_in(await do(bench, EnsureWorkload(), plan))
    assert refusal.reason == "NameTaken"


@pytest.mark.parametrize("error", [Unreachable("broke"), Conflict("changed", status=409)])
async def test_a_patch_without_a_clear_answer_is_left_to_the_next_decision(error: ApiError) -> None:
    bench, plan = Bench(), queued()
    workload = await made(bench, plan)
    bench.api.fail("PATCH", error)
    with pytest.raises(type(error)):
        await do(bench, ReleaseWorkload(workload), plan)


async def test_a_release_removes_the_admission_and_keeps_the_conditions_of_others() -> None:
    bench, plan = Bench(), queued()
    await made(bench, plan)
    workload = admit(bench, plan, {"cpu": "standard"})
    preempted = WorkloadCondition("Preempted", "True", "InClusterQueue", "why", "2026-11-22T00:00:01Z")
    outcome = await do(bench, PatchWorkloadStatus(workload, (preempted,), release=True), plan)
    kept = bench.api.objects[path_of(plan)]
    assert "admission" not in kept["status"]
    assert kept["status"]["conditions"] == [
        {
            "type": "Preempted", "status": "True", "reason": "InClusterQueue", "message": "why",
            "lastTransitionTime": "2026-11-22T00:00:01Z",
        }
    ]  # fmt: skip
    assert str(outcome.workloads) == kept["metadata"]["resourceVersion"]
    with pytest.raises(Conflict):
        await do(bench, PatchWorkloadStatus(workload, (), release=True), plan)


async def test_deletion_is_by_uid_and_ends_when_the_finalizer_goes() -> None:
    bench, plan = Bench(), queued()
    workload = await made(bench, plan)
    await do(bench, DeleteWorkload(workload), plan)
    leaving = seen(bench, plan)
    assert leaving.deleting
    await do(bench, ReleaseWorkload(leaving), plan)
    assert bench.api.named("workloads") == []
    assert await do(bench, DeleteWorkload(leaving), plan) == Outcome(ahead=True)


async def test_a_pending_workload_is_moved_to_another_queue() -> None:
    bench, plan = Bench(), queued()
    await do(bench, MoveWorkload(await made(bench, plan), "other"), plan)
    assert bench.api.objects[path_of(plan)]["spec"]["queueName"] == "other"


async def test_the_flavors_of_the_admission_are_on_the_pods() -> None:
    bench = Bench()
    plan = queued(node_selector={"pool": "a"}, tolerations=(Toleration("own", "Exists", "", ""),))
    submitted(bench.api, plan)
    await made(bench, plan)
    workload = admit(bench, plan, {"cpu": "standard", "memory": "standard", "gpu": "fast"})
    bench.api.put(f"{FLAVORS}/standard", {"spec": {"nodeLabels": {"kubernetes.io/os": "linux"}}})
    taint = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
    bench.api.put(f"{FLAVORS}/fast", {"spec": {"nodeLabels": {"gpu": "h100"}, "tolerations": [taint]}})
    placement = (await do(bench, ReadAdmission(0, workload), plan)).placement
    assert placement is not None
    assert (placement.epoch, placement.workload) == (0, workload.uid)
    await do(bench, CreatePods(0, members(plan), placement.groups), plan)
    spec = bench.api.objects[pod_path(plan, 2)]["spec"]
    assert spec["nodeSelector"] == {"pool": "a", "kubernetes.io/os": "linux", "gpu": "h100"}
    assert spec["tolerations"] == [{"key": "own", "operator": "Exists"}, taint]


async def test_the_updates_of_admission_checks_are_on_the_pods_too() -> None:
    bench, plan = Bench(), queued()
    await made(bench, plan)
    update = {"name": "worker", "nodeSelector": {"capacity": "reserved"}}
    workload = admit(bench, plan, {}, admissionChecks=[{"name": "prov", "podSetUpdates": [update, {"name": "other"}]}])
    placement = (await do(bench, ReadAdmission(0, workload), plan)).placement
    assert placement is not None
    assert placement.groups[0].node_selector == (("capacity", "reserved"),)


async def test_nothing_is_placed_on_an_admission_that_was_taken_back() -> None:
    bench, plan = Bench(), queued()
    await made(bench, plan)
    workload = admit(bench, plan, {})
    kept = bench.api.objects[path_of(plan)]
    evicted = {"type": "Evicted", "status": "True", "reason": "Preempted"}
    status = {**kept["status"], "conditions": [*kept["status"]["conditions"], evicted]}
    bench.api.put(path_of(plan), {**kept, "status": status})
    assert await do(bench, ReadAdmission(0, workload), plan) == Outcome(ahead=True)
    bench.api.objects.pop(path_of(plan))
    assert await do(bench, ReadAdmission(0, workload), plan) == Outcome(ahead=True)


async def test_a_flavor_that_is_gone_or_may_not_be_read_is_reported() -> None:
    bench, plan = Bench(), queued()
    await made(bench, plan)
    workload = admit(bench, plan, {"cpu": "gone"})
    refusal = refusal_in(await do(bench, ReadAdmission(0, workload), plan))
    assert refusal.reason == "FlavorMissing"
    text = 'User "system:serviceaccount:m:musterd" cannot get resource "resourceflavors"'
    bench.api.fail("resourceflavors", Forbidden(text, status=403))
    refusal = refusal_in(await do(bench, ReadAdmission(0, workload), plan))
    assert refusal.reason == "RightsMissing"
