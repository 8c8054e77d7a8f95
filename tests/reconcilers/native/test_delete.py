"""DeletePods deletes the given pods and no others."""

from typing import Any

import pytest

from muster.api.errors import Conflict, Forbidden, Unreachable
from muster.reconcilers.result import Outcome
from muster.state.vocabulary.actions import CreatePods, DeletePods
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from tests.fakes.engines import Bench, finished
from tests.fakes.plans import gang, members, pod_path, seen
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


@pytest.mark.parametrize(
    ("grace", "sent"),
    [(None, False), (30, False), (20, False), (19, True), (5, True), (0, True)],
)
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


async def test_an_error_is_raised_and_the_rest_is_deleted_the_next_time() -> None:
    bench, plan, pods = await running(8, concurrency=1)
    bench.api.fail("DELETE", Unreachable("reset"))
    with pytest.raises(Unreachable):
        await delete(bench, plan, pods)
    await delete(bench, plan, pods)
    assert all("deletionTimestamp" in pod["metadata"] for pod in bench.api.objects.values())


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
