"""The pods of a gone Experiment are deleted only if the live API shows that it is gone, and only its own."""

import pytest

from muster.api.errors import ApiError, Conflict, Forbidden, Unreachable
from muster.state.vocabulary.plan import Plan
from tests.fakes.engines import Bench
from tests.fakes.plans import experiment_path, pod_path
from tests.reconcilers.conftest import edit, launched


async def running(workers: int) -> tuple[Bench, Plan]:
    bench, plan = await launched(workers)
    bench.api.requests.clear()
    return bench, plan


async def test_the_pods_of_an_experiment_that_is_gone_are_deleted_by_uid_with_their_own_grace() -> None:
    bench, plan = await running(3)
    uids = sorted(pod["metadata"]["uid"] for pod in bench.api.objects.values())
    await bench.engine.collect(plan)
    assert [request.method for request in bench.api.requests] == ["GET", "GET", *["DELETE"] * 3]
    bodies = [request.body for request in bench.api.asked("DELETE")]
    assert sorted(body["preconditions"]["uid"] for body in bodies) == uids
    assert all("gracePeriodSeconds" not in body for body in bodies)


@pytest.mark.parametrize(("uid", "deleted"), [(None, 0), ("another-life", 3)], ids=["it exists", "another of its name"])
async def test_only_the_experiment_itself_keeps_its_pods(uid: str | None, deleted: int) -> None:
    bench, plan = await running(3)
    bench.api.put(experiment_path("lab", "moe"), {"metadata": {"uid": uid or plan.uid}})
    await bench.engine.collect(plan)
    assert len(bench.api.asked("DELETE")) == deleted


async def test_pods_that_have_lost_their_owner_reference_stay() -> None:
    """As after ``kubectl delete --cascade=orphan``."""
    bench, plan = await running(2)
    edit(bench, pod_path(plan, 0), metadata={"ownerReferences": []})
    await bench.engine.collect(plan)
    assert [request.path for request in bench.api.asked("DELETE")] == [pod_path(plan, 1)]


async def test_pods_that_the_garbage_collector_has_deleted_are_not_asked_for_again() -> None:
    bench, plan = await running(2)
    bench.api.delete(pod_path(plan, 0))
    bench.api.fail("DELETE", Conflict("the uid is another", status=409))
    await bench.engine.collect(plan)
    assert len(bench.api.asked("DELETE")) == 1


@pytest.mark.parametrize("error", [Unreachable("reset"), Forbidden("no", status=403)])
@pytest.mark.parametrize("request_", ["GET /apis", "GET /api/v1", "DELETE"])
async def test_an_error_is_raised(error: ApiError, request_: str) -> None:
    bench, plan = await running(2)
    bench.api.fail(request_, error)
    with pytest.raises(type(error)):
        await bench.engine.collect(plan)
