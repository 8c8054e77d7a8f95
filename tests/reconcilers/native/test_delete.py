"""Pods are deleted and stopped by uid, no others, and those of a gone Experiment only if the live API shows that."""

from typing import Any

import pytest

from muster.api.errors import ApiError, Conflict, Forbidden, NotFound, Unreachable
from muster.reconcilers.refs import path_of
from muster.reconcilers.result import Outcome
from muster.state.vocabulary.actions import CreatePods, DeletePods, DeleteSubject, StopPods
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from tests.fakes.engines import Bench, finished
from tests.fakes.plans import experiment_path, gang, members, pod_path, record, seen
from tests.reconcilers.conftest import do, edit, launched, refusal_in


async def running(workers: int, **settings: Any) -> tuple[Bench, Plan, list[Pod]]:
    bench, plan = await launched(workers, **settings)
    return bench, plan, [seen(bench.api, pod_path(plan, rank)) for rank in range(workers)]


async def delete(bench: Bench, plan: Plan, pods: list[Pod], grace: int | None = None) -> Outcome:
    return finished(await do(bench, DeletePods(tuple(pods), grace, "the gang restarts"), plan))


async def test_pods_are_deleted_with_the_grace_and_a_uid_precondition() -> None:
    bench, plan, pods = await running(2)
    outcome = await delete(bench, plan, pods, grace=5)
    assert outcome == Outcome(version=4, deleted=tuple(pods))
    for request, pod in zip(bench.api.asked("DELETE"), pods, strict=True):
        assert request.body == {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": pod.uid},
            "propagationPolicy": "Background",
            "gracePeriodSeconds": 5,
        }
    assert all("deletionTimestamp" in pod["metadata"] for pod in bench.api.objects.values())


async def test_without_a_grace_the_grace_of_the_pod_applies() -> None:
    bench, plan = Bench(), gang(1, grace=90)
    await do(bench, CreatePods(0, members(plan)), plan)
    await delete(bench, plan, [seen(bench.api, pod_path(plan, 0))])
    (pod,) = bench.api.objects.values()
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 90


async def test_a_pod_that_is_gone_is_success() -> None:
    bench, plan, pods = await running(1)
    bench.api.remove(pod_path(plan, 0))
    assert await delete(bench, plan, pods) == Outcome(deleted=tuple(pods))


async def test_a_newer_pod_of_the_same_name_is_not_deleted() -> None:
    bench, plan, pods = await running(1)
    bench.api.remove(pod_path(plan, 0))
    bench.api.put(pod_path(plan, 0), {"kind": "Pod"})
    assert await delete(bench, plan, pods, grace=0) == Outcome(deleted=tuple(pods))
    assert len(bench.api.named("pods")) == 1


async def test_a_delete_that_conflicts_is_an_error_to_be_repeated_and_the_other_pods_are_deleted() -> None:
    bench, plan, pods = await running(3)
    conflict = Conflict("the object has been modified", status=409)
    bench.api.fail(f"DELETE {pod_path(plan, 1)}", conflict)
    outcome = await do(bench, DeletePods(tuple(pods), None, "the gang restarts"), plan)
    assert (outcome.deleted, outcome.error) == ((pods[0], pods[2]), conflict)
    assert (await delete(bench, plan, [pods[1]])).deleted == (pods[1],)
    assert all("deletionTimestamp" in pod["metadata"] for pod in bench.api.objects.values())


@pytest.mark.parametrize(("grace", "sent"), [(None, False), (30, False), (20, False), (19, True), (5, True), (0, True)])
async def test_a_terminating_pod_is_deleted_again_only_with_a_shorter_grace(grace: int | None, sent: bool) -> None:
    bench, plan, _ = await running(1)
    going = seen(bench.api, pod_path(plan, 0), terminating=True, delete_by=bench.now + 20)
    await delete(bench, plan, [going], grace)
    assert bool(bench.api.asked("DELETE")) is sent


async def test_a_pod_on_a_dead_node_can_be_deleted_by_force() -> None:
    bench, plan, _ = await running(1)
    stuck = seen(bench.api, pod_path(plan, 0), terminating=True, delete_by=bench.now - 600)
    await delete(bench, plan, [stuck], grace=10)
    assert bench.api.named("pods"), "ten seconds from now is no sooner"
    await delete(bench, plan, [stuck], grace=0)
    assert not bench.api.named("pods")


async def test_pods_deleted_before_an_error_are_reported() -> None:
    bench, plan, pods = await running(8, concurrency=1)
    bench.api.fail(f"DELETE {pod_path(plan, 3)}", Unreachable("reset"))
    outcome = await do(bench, DeletePods(tuple(pods), None, "the gang restarts"), plan)
    assert (outcome.deleted, outcome.version) == (tuple(pods[:3]), 11)
    assert isinstance(outcome.error, Unreachable)


async def test_a_forbidden_delete_is_a_refusal_that_names_the_pod() -> None:
    bench, plan, pods = await running(1)
    bench.api.fail("DELETE", Forbidden("no", status=403))
    refusal = refusal_in(await delete(bench, plan, pods))
    assert not refusal.final
    assert pods[0].name in refusal.message


async def test_a_pod_that_is_to_stay_when_it_has_ended_is_read_first_and_deleted_as_it_was_read() -> None:
    bench, plan, pods = await running(2)
    edit(bench, pod_path(plan, 1), status={"phase": "Failed"})
    action = DeletePods(tuple(pods), None, "they have not stopped in time", unless_ended=True)
    outcome = await do(bench, action, plan)
    assert {each.rank for each in outcome.deleted} == {0, 1}, "nothing is left to do for either"
    (request,) = bench.api.asked("DELETE")
    assert request.path == pod_path(plan, 0)
    assert request.body["preconditions"] == {"uid": pods[0].uid, "resourceVersion": str(pods[0].resource_version)}
    assert "deletionTimestamp" not in bench.api.objects[pod_path(plan, 1)]["metadata"]


PATCH = "PATCH /api/v1/namespaces/lab/pods"


async def stop(bench: Bench, plan: Plan, pods: list[Pod]) -> Outcome:
    return finished(await do(bench, StopPods(tuple(pods), "the experiment has ended"), plan))


async def test_a_stopped_pod_gets_a_deadline_of_a_second_under_its_uid_and_stays() -> None:
    bench, plan, pods = await running(2)
    outcome = await stop(bench, plan, pods)
    assert sorted(pod.rank for pod in outcome.stopped) == [0, 1]
    for request in bench.api.asked(PATCH):
        assert request.body["spec"] == {"activeDeadlineSeconds": 1}
        assert request.body["metadata"]["uid"] in {pod.uid for pod in pods}
    assert len(bench.api.named("pods")) == 2
    assert all(obj["spec"]["activeDeadlineSeconds"] == 1 for obj in bench.api.objects.values())


async def test_a_pod_that_is_gone_is_stopped() -> None:
    bench, plan, pods = await running(1)
    bench.api.fail(PATCH, NotFound("gone", status=404))
    assert (await stop(bench, plan, pods)).stopped == tuple(pods)


@pytest.mark.parametrize("error", [Conflict("another uid", status=409), Unreachable("reset")])
async def test_what_may_not_have_been_stopped_is_stopped_again(error: Conflict | Unreachable) -> None:
    bench, plan, pods = await running(1)
    bench.api.fail(PATCH, error)
    with pytest.raises(type(error)):
        await stop(bench, plan, pods)
    assert (await stop(bench, plan, pods)).stopped == tuple(pods)


async def test_a_missing_right_is_a_refusal_that_is_not_final() -> None:
    bench, plan, pods = await running(1)
    message = 'pods "x" is forbidden: User "musterd" cannot patch resource "pods"'
    bench.api.fail(PATCH, Forbidden(message, status=403))
    refusal = refusal_in(await stop(bench, plan, pods))
    assert (refusal.reason, refusal.final) == ("RightsMissing", False)


async def left(workers: int) -> tuple[Bench, Plan]:
    bench, plan = await launched(workers)
    bench.api.requests.clear()
    return bench, plan


async def test_the_pods_of_an_experiment_that_is_gone_are_deleted_by_uid_with_their_own_grace() -> None:
    bench, plan = await left(3)
    uids = sorted(pod["metadata"]["uid"] for pod in bench.api.objects.values())
    await bench.engine.collect(plan)
    assert [request.method for request in bench.api.requests] == ["GET", "GET", *["DELETE"] * 3]
    bodies = [request.body for request in bench.api.asked("DELETE")]
    assert sorted(body["preconditions"]["uid"] for body in bodies) == uids
    assert all("gracePeriodSeconds" not in body for body in bodies)


@pytest.mark.parametrize(("uid", "deleted"), [(None, 0), ("another-life", 3)], ids=["it exists", "another of its name"])
async def test_only_the_experiment_itself_keeps_its_pods(uid: str | None, deleted: int) -> None:
    bench, plan = await left(3)
    bench.api.put(experiment_path("lab", "moe"), {"metadata": {"uid": uid or plan.uid}})
    await bench.engine.collect(plan)
    assert len(bench.api.asked("DELETE")) == deleted


async def test_pods_that_have_lost_their_owner_reference_stay() -> None:
    """As after ``kubectl delete --cascade=orphan``."""
    bench, plan = await left(2)
    edit(bench, pod_path(plan, 0), metadata={"ownerReferences": []})
    await bench.engine.collect(plan)
    assert [request.path for request in bench.api.asked("DELETE")] == [pod_path(plan, 1)]


async def test_pods_that_the_garbage_collector_has_deleted_are_not_asked_for_again() -> None:
    bench, plan = await left(2)
    bench.api.delete(pod_path(plan, 0))
    bench.api.fail("DELETE", Conflict("the uid is another", status=409))
    await bench.engine.collect(plan)
    assert len(bench.api.asked("DELETE")) == 1


@pytest.mark.parametrize("error", [Unreachable("reset"), Forbidden("no", status=403)])
@pytest.mark.parametrize("request_", ["GET /apis", "GET /api/v1", "DELETE"])
async def test_an_error_is_raised(error: ApiError, request_: str) -> None:
    bench, plan = await left(2)
    bench.api.fail(request_, error)
    with pytest.raises(type(error)):
        await bench.engine.collect(plan)


PLAN = gang(1)
PATH = path_of(PLAN)
REMOVAL = f"DELETE {PATH}"


def bench_with() -> tuple[Bench, int]:
    """Return a bench whose API server has the object, and the object's resourceVersion."""
    bench = Bench()
    made = bench.api.put(PATH, {"metadata": {"name": PLAN.name, "namespace": PLAN.namespace, "uid": PLAN.uid}})
    return bench, int(made["metadata"]["resourceVersion"])


async def remove(bench: Bench, version: int, written: int = 0) -> Outcome:
    return finished(await bench.engine.carry_out(DeleteSubject(), PLAN, record(), written, version))


async def test_the_object_is_deleted_as_it_was_decided_on() -> None:
    bench, version = bench_with()
    assert await remove(bench, version) == Outcome(removed=True)
    (request,) = bench.api.asked(REMOVAL)
    assert request.body["preconditions"] == {"uid": PLAN.uid, "resourceVersion": str(version)}
    assert request.body["propagationPolicy"] == "Background"
    assert PATH not in bench.api.objects


async def test_a_status_write_of_the_same_step_is_the_version_to_delete() -> None:
    bench, version = bench_with()
    await remove(bench, version - 1, written=version)
    assert PATH not in bench.api.objects


async def test_an_object_that_was_edited_meanwhile_stays_for_the_next_decision() -> None:
    bench, version = bench_with()
    with pytest.raises(Conflict):
        await remove(bench, version - 1)
    assert PATH in bench.api.objects


async def test_one_that_is_gone_is_deleted() -> None:
    bench, version = bench_with()
    bench.api.fail(REMOVAL, NotFound("gone", status=404))
    assert await remove(bench, version) == Outcome(removed=True)


async def test_an_answer_that_is_lost_is_asked_for_again() -> None:
    bench, version = bench_with()
    bench.api.fail(REMOVAL, Unreachable("reset"))
    with pytest.raises(Unreachable):
        await remove(bench, version)
    assert await remove(bench, version) == Outcome(removed=True)


async def test_a_missing_right_is_reported_and_never_final() -> None:
    bench, version = bench_with()
    text = 'experiments.muster.dev "run" is forbidden: User "musterd" cannot delete resource "experiments"'
    bench.api.fail(REMOVAL, Forbidden(text, status=403))
    refusal = refusal_in(await remove(bench, version))
    assert (refusal.reason, refusal.final) == ("RightsMissing", False)
    assert f"refuses to delete Experiment {PLAN.namespace}/{PLAN.name}" in refusal.message
