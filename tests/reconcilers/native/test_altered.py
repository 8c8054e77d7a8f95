"""Unseen pods are read by name."""

from typing import Any

import pytest

from muster.reconcilers.native import live_pods
from muster.reconcilers.result import Outcome
from muster.state.vocabulary.actions import ConfirmEnd, ConfirmLaunch, ConfirmLoss, DeletePods
from muster.state.vocabulary.plan import Plan
from tests.fakes.engines import Bench
from tests.fakes.plans import member_of, pod_path, submitted
from tests.reconcilers.conftest import do, edit, launched, refusal_in

RUNNING = {"phase": "Running"}


def alter(bench: Bench, plan: Plan, rank: int, **metadata: Any) -> None:
    edit(bench, pod_path(plan, rank), metadata=metadata or {"labels": {}})


async def loss(bench: Bench, plan: Plan, **asked: Any) -> Outcome:
    return await do(bench, ConfirmLoss(0, **asked), plan)


async def launch(bench: Bench, plan: Plan, epoch: int = 1, *, search: bool = True) -> Outcome:
    submitted(bench.api, plan, epoch=epoch)
    return await do(bench, ConfirmLaunch(epoch, search=search), plan, epoch)


async def end(bench: Bench, plan: Plan, **asked: Any) -> Outcome:
    return await do(bench, ConfirmEnd(0, **asked), plan)


@pytest.mark.parametrize("mark", [{"labels": {}}, {"ownerReferences": []}, {"labels": {}, "ownerReferences": []}])
async def test_a_pod_that_exists_under_its_name_is_not_lost(mark: dict[str, Any]) -> None:
    bench, plan = await launched(3)
    alter(bench, plan, 1, **mark)
    outcome = await loss(bench, plan)
    assert outcome.lost is False
    assert (refusal_in(outcome).reason, refusal_in(outcome).final) == ("PodAltered", False)
    assert [pod.rank for pod in outcome.altered] == [1]


async def test_where_another_pod_is_gone_the_loss_is_that_of_its_rank() -> None:
    bench, plan = await launched(3)
    alter(bench, plan, 1)
    bench.api.remove(pod_path(plan, 2))
    outcome = await loss(bench, plan)
    assert (outcome.lost, outcome.lost_ranks, outcome.refusal) == (True, (2,), None)


async def test_a_pod_of_another_uid_is_not_the_one_that_vanished() -> None:
    bench, plan = await launched(3)
    alter(bench, plan, 1)
    seen = live_pods.unseen(plan, member_of(plan, 1), 0, 0, "another uid")
    assert (await loss(bench, plan, vanished=(seen,))).lost_ranks == (1,)


async def test_one_request_each_for_a_few_pods_and_one_list_for_many() -> None:
    bench, plan = await launched(20)
    for rank in range(1, 20):
        alter(bench, plan, rank)
    before = len(bench.api.requests)
    outcome = await loss(bench, plan)
    assert (outcome.lost, len(outcome.altered)) == (False, 19)
    assert len(bench.api.requests) - before == 2
    before = len(bench.api.requests)
    await loss(bench, plan, ranks=(1, 2))
    assert len(bench.api.requests) - before == 3


async def test_a_search_finds_the_pods_of_earlier_epochs_by_their_names() -> None:
    bench, plan = await launched(2)
    for rank in range(2):
        edit(bench, pod_path(plan, rank), status=RUNNING, metadata={"labels": {}, "ownerReferences": []})
    assert (await launch(bench, plan, 1, search=False)).confirmed is True
    outcome = await launch(bench, plan, 5)
    assert (outcome.confirmed, outcome.searched) == (False, True)
    assert {(pod.rank, pod.epoch) for pod in outcome.altered} == {(0, 0), (1, 0)}
    assert "1 more pod is like it" in refusal_in(outcome).message


async def test_a_search_passes_over_pods_that_only_look_alike() -> None:
    bench, plan = await launched(1)
    pod = bench.api.objects[pod_path(plan, 0)]
    bench.api.remove(pod_path(plan, 0))
    suffix = pod["metadata"]["name"].rpartition("-")[2]
    for name in (f"other-worker-0-0-{suffix}", "moe-worker-0-0-abcde", "plain"):
        path = pod_path(plan, 0).rpartition("/")[0] + f"/{name}"
        metadata = {**pod["metadata"], "name": name, "uid": None}
        bench.api.put(path, {**pod, "status": RUNNING, "metadata": metadata})
    assert (await launch(bench, plan)).confirmed is True


async def test_no_watch_brings_the_version_of_a_deleted_pod_without_its_label() -> None:
    bench, plan = await launched(2)
    pods = []
    for rank in range(2):
        path = pod_path(plan, rank)
        edit(bench, path, status=RUNNING, spec={"nodeName": "a"})
        pods.append(live_pods.unseen(plan, member_of(plan, rank), 0, 0, bench.api.objects[path]["metadata"]["uid"]))
    alter(bench, plan, 1)
    versions = [(await do(bench, DeletePods((pod,), None, "gone"), plan)).version for pod in pods]
    assert versions[0] > 0
    assert versions[1] == 0


async def test_pods_whose_quota_is_to_be_given_back_have_ended_when_none_of_their_name_runs() -> None:
    bench, plan = await launched(3)
    alter(bench, plan, 1)
    uid = bench.api.objects[pod_path(plan, 1)]["metadata"]["uid"]
    pod = live_pods.unseen(plan, member_of(plan, 1), 0, 0, uid)
    outcome = await end(bench, plan, vanished=(pod,))
    assert ([each.uid for each in outcome.altered], outcome.gone, outcome.ahead) == ([uid], (), False)
    assert "keeps the quota of the experiment until it has ended" in refusal_in(outcome).message
    bench.api.remove(pod_path(plan, 1))
    outcome = await end(bench, plan, vanished=(pod,))
    assert (outcome.altered, outcome.gone, outcome.refusal) == ((), (pod,), None)


async def test_one_that_has_its_marks_again_is_left_to_the_watch() -> None:
    bench, plan = await launched(3)
    outcome = await end(bench, plan, vanished=(live_pods.unseen(plan, member_of(plan, 1), 0, 0),))
    assert (outcome.altered, outcome.gone, outcome.refusal, outcome.ahead) == ((), (), None, True)


async def test_a_search_before_quota_is_given_back_finds_pods_of_the_epoch_that_ends_too() -> None:
    bench, plan = await launched(3)
    for rank in range(3):
        edit(bench, pod_path(plan, rank), status=RUNNING)
    alter(bench, plan, 2, ownerReferences=[])
    outcome = await end(bench, plan, search=True)
    assert (outcome.searched, [pod.rank for pod in outcome.altered]) == (True, [2])


async def test_a_search_before_a_launch_reports_altered_pods_of_that_epoch_and_is_not_held_back_by_them() -> None:
    bench, plan = await launched(3)
    alter(bench, plan, 1)
    outcome = await launch(bench, plan, 0)
    assert (outcome.confirmed, outcome.refusal, [pod.rank for pod in outcome.altered]) == (True, None, [1])
