"""StopPods gives pods a deadline that is over, and keeps them."""

import pytest

from muster.api.errors import Conflict, Forbidden, NotFound, Unreachable
from muster.reconcilers.result import Outcome
from muster.state.vocabulary.actions import StopPods
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from tests.fakes.engines import Bench, finished
from tests.fakes.plans import pod_path, seen
from tests.reconcilers.conftest import do, launched, refusal_in

PATCH = "PATCH /api/v1/namespaces/lab/pods"


async def running(workers: int) -> tuple[Bench, Plan, list[Pod]]:
    bench, plan = await launched(workers)
    return bench, plan, [seen(bench.api, pod_path(plan, rank)) for rank in range(workers)]


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
