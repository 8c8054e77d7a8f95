"""ConfirmLaunch and ConfirmLoss: a launch and a loss are confirmed by the API server, not by a cache."""

from typing import Any

import pytest
from msgspec.structs import replace

from muster.api.errors import ApiError, Expired, Forbidden, MusterError, Unreachable
from muster.kube.resources import core
from muster.reconcilers.native import live_pods
from muster.reconcilers.result import Outcome
from muster.state.vocabulary.actions import Action, ConfirmLaunch, ConfirmLoss, CreatePods
from muster.state.vocabulary.plan import Plan
from tests.fakes.engines import Bench
from tests.fakes.plans import experiment_path, gang, member_of, members, pod_path, record, submitted
from tests.reconcilers.conftest import do, edit, launched, refusal_in

UID = "muster.dev/experiment-uid"


@pytest.fixture(autouse=True)
def page_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the usual page size: the simulated world, if it is imported, has smaller pages."""
    monkeypatch.setattr(live_pods, "PAGE", 500)


async def confirm(bench: Bench, plan: Plan, epoch: int) -> Outcome:
    return await do(bench, ConfirmLaunch(epoch), plan, epoch)


async def with_an_older_pod(**changes: Any) -> tuple[Bench, Plan]:
    """Epoch 1 is to be launched, and the pod of epoch 0 is on the server with these changes."""
    bench, plan = await launched(1)
    submitted(bench.api, plan, epoch=1)
    if changes:
        edit(bench, pod_path(plan, 0), **changes)
    return bench, plan


async def test_a_launch_is_confirmed_by_one_get_and_one_consistent_list() -> None:
    bench, plan = Bench(), gang()
    submitted(bench.api, plan)
    assert await confirm(bench, plan, 0) == Outcome(confirmed=True, owner=1)
    get, listed = bench.api.requests
    assert get.path == experiment_path("lab", "moe")
    assert listed.params == {"labelSelector": f"{UID}={plan.uid}", "limit": "500"}


async def test_a_status_write_of_the_same_step_stands_for_the_get() -> None:
    bench, plan = Bench(), gang()
    submitted(bench.api, plan)
    outcome = await bench.engine.carry_out(ConfirmLaunch(0), plan, record(0), 7)
    assert outcome == Outcome(confirmed=True, owner=7)
    (listed,) = bench.api.requests
    assert listed.path == core("lab", "pods")


async def test_pods_of_the_same_epoch_do_not_prevent_a_launch() -> None:
    bench, plan = await launched(4, 2)
    submitted(bench.api, plan, epoch=2)
    assert await confirm(bench, plan, 2) == Outcome(confirmed=True, version=4, owner=5, launched=True)


async def test_a_running_pod_of_an_older_epoch_prevents_a_launch_also_when_the_status_was_written() -> None:
    bench, plan = await with_an_older_pod()
    assert await confirm(bench, plan, 1) == Outcome(confirmed=False, version=1, owner=2)
    assert (await bench.engine.carry_out(ConfirmLaunch(1), plan, record(1), 7)).confirmed is False


@pytest.mark.parametrize(
    ("change", "confirmed"),
    [
        ({"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}}, False),
        ({"status": {"phase": "Succeeded"}}, True),
        ({"status": {"phase": "Failed"}}, True),
    ],
)
async def test_a_terminating_pod_prevents_a_launch_and_an_ended_one_does_not(
    change: dict[str, Any], confirmed: bool
) -> None:
    bench, plan = await with_an_older_pod(**change)
    assert (await confirm(bench, plan, 1)).confirmed is confirmed


@pytest.mark.parametrize(
    "labels",
    [
        {},
        {"muster.dev/epoch": "0"},
        {"muster.dev/epoch": "0", "muster.dev/rank": "1"},
        {"muster.dev/epoch": "-1", "muster.dev/rank": "0"},
        {"muster.dev/epoch": "1000000000", "muster.dev/rank": "0"},
    ],
)
async def test_a_pod_that_names_the_experiment_but_is_none_of_its_members_prevents_no_launch(
    labels: dict[str, str],
) -> None:
    bench, plan = await with_an_older_pod(metadata={"labels": {UID: gang().uid, **labels}})
    assert (await confirm(bench, plan, 1)).confirmed is True


async def test_a_rank_that_is_done_is_not_lost_when_its_pod_is_gone() -> None:
    bench, plan = await launched(2)
    del bench.api.objects[pod_path(plan, 1)]
    done = replace(record(0), completed="1")
    assert (await bench.engine.carry_out(ConfirmLoss(0), plan, done)).lost is False
    assert (await bench.engine.carry_out(ConfirmLoss(0), plan, replace(done, completed="0"))).lost is True
    submitted(bench.api, plan)
    assert (await bench.engine.carry_out(ConfirmLaunch(0), plan, done)).launched is True


async def test_of_members_that_take_turns_those_named_are_looked_for() -> None:
    bench, plan = await launched(2)
    del bench.api.objects[pod_path(plan, 1)]
    assert (await do(bench, ConfirmLoss(0, (0,)), plan)).lost is False
    assert (await do(bench, ConfirmLoss(0, (1,)), plan)).lost is True
    done = replace(record(0), completed="1")
    assert (await bench.engine.carry_out(ConfirmLoss(0, (1,)), plan, done)).lost is False


async def test_a_forged_pod_does_not_hide_the_loss_of_a_member() -> None:
    bench, plan = await launched(2)
    forged = bench.api.objects[pod_path(plan, 0)]
    del bench.api.objects[pod_path(plan, 1)]
    bench.api.put(core("lab", "pods", "forged"), {**forged, "metadata": {**forged["metadata"], "name": "forged"}})
    assert (await do(bench, ConfirmLoss(0), plan)).lost is True


async def test_a_foreign_pod_with_our_label_does_not_prevent_a_launch() -> None:
    bench, plan = Bench(), gang(1)
    submitted(bench.api, plan)
    bench.api.put(core("lab", "pods", "stranger"), {"metadata": {"labels": {UID: plan.uid, "muster.dev/epoch": "9"}}})
    assert (await confirm(bench, plan, 0)).confirmed is True


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"uid": "another-life"}},
        {"metadata": {"deletionTimestamp": "2030-01-01T00:00:00Z"}},
        {"spec": {"suspend": True}},
        {"spec": {"cancel": True}},
        {"status": {"epoch": 1}},
    ],
)
async def test_an_experiment_that_differs_from_the_cache_is_not_launched(change: dict[str, Any]) -> None:
    bench, plan = Bench(), gang()
    submitted(bench.api, plan)
    obj = bench.api.objects[experiment_path("lab", "moe")]
    for part, fields in change.items():
        obj.setdefault(part, {}).update(fields)
    assert await confirm(bench, plan, 0) == Outcome(confirmed=False)
    assert len(bench.api.requests) == 1


async def test_an_experiment_that_is_gone_is_not_launched() -> None:
    assert await confirm(Bench(), gang(), 0) == Outcome(confirmed=False)


async def test_every_page_of_a_large_gang_is_read() -> None:
    bench, plan = await launched(1201, 1)
    submitted(bench.api, plan, epoch=1)
    old, _ = await launched(1201)
    bench.api.put(last_of_old := pod_path(plan, 1200), old.api.objects[last_of_old])
    assert (await confirm(bench, plan, 1)).confirmed is False
    assert len([request for request in bench.api.requests if "limit" in request.params]) == 3
    del bench.api.objects[last_of_old]
    assert (await confirm(bench, plan, 1)).confirmed is True, "no other pod of the 1,201 prevents it"


async def test_missing_rights_to_list_pods_are_a_refusal() -> None:
    bench, plan = Bench(), gang()
    submitted(bench.api, plan)
    cannot = 'pods is forbidden: User "musterd" cannot list resource "pods"'
    bench.api.fail("GET /api/v1/namespaces/lab/pods", Forbidden(cannot, status=403))
    assert refusal_in(await confirm(bench, plan, 0)).reason == "RightsMissing"


@pytest.mark.parametrize("error", [Expired("continue token", status=410), Unreachable("reset")])
async def test_an_error_of_the_list_is_raised(error: ApiError) -> None:
    bench, plan = Bench(), gang()
    submitted(bench.api, plan)
    bench.api.fail("GET /api/v1/namespaces/lab/pods", error)
    with pytest.raises(type(error)):
        await confirm(bench, plan, 0)


@pytest.mark.parametrize("action", [ConfirmLaunch(2), CreatePods(2, ())])
async def test_an_epoch_that_is_not_persisted_is_neither_confirmed_nor_launched(action: Action) -> None:
    bench = Bench()
    with pytest.raises(MusterError, match="epoch 2 cannot be launched while its record is of epoch 1; persist"):
        await do(bench, action, gang(), 1)
    assert not bench.api.requests


async def test_a_pod_is_lost_only_if_the_api_server_lacks_it() -> None:
    bench, plan = await launched(3, 1)
    assert await do(bench, ConfirmLoss(1), plan, 1) == Outcome(lost=False, version=3)
    bench.api.remove(pod_path(plan, 1, 1))
    assert (await do(bench, ConfirmLoss(1), plan, 1)).lost is True


async def test_pods_of_another_epoch_do_not_replace_a_lost_one() -> None:
    bench, plan = await launched(2)
    await do(bench, CreatePods(1, members(plan)), plan, 1)
    bench.api.remove(pod_path(plan, 0, 1))
    assert (await do(bench, ConfirmLoss(1), plan, 1)).lost is True


async def test_an_ended_pod_is_not_lost() -> None:
    bench, plan = await launched(1)
    edit(bench, pod_path(plan, 0), status={"phase": "Failed"})
    assert (await do(bench, ConfirmLoss(0), plan)).lost is False


async def again(bench: Bench, plan: Plan, rank: int, attempt: int) -> None:
    await do(bench, CreatePods(0, (member_of(plan, rank),), attempts=((rank, attempt),)), plan)


async def test_a_pod_of_an_older_attempt_that_runs_keeps_the_next_one_of_its_rank_waiting() -> None:
    bench, plan = await launched(4)
    submitted(bench.api, plan)
    assert (await do(bench, ConfirmLaunch(0, ((1, 1),)), plan)).confirmed is False
    edit(bench, pod_path(plan, 1, 0), status={"phase": "Failed"})
    outcome = await do(bench, ConfirmLaunch(0, ((1, 1),)), plan)
    assert (outcome.confirmed, outcome.attempts) == (True, ((1, 1),))


async def test_a_pod_of_the_same_attempt_keeps_nobody_waiting() -> None:
    bench, plan = Bench(), gang(4)
    submitted(bench.api, plan)
    await again(bench, plan, 1, 1)
    assert (await do(bench, ConfirmLaunch(0, ((1, 1), (2, 1))), plan)).confirmed


async def test_the_loss_of_an_attempt_is_told_from_that_of_another() -> None:
    bench, plan = Bench(), gang(4)
    await again(bench, plan, 1, 1)
    await again(bench, plan, 2, 3)
    outcome = await do(bench, ConfirmLoss(0, attempts=((1, 1), (1, 2), (2, 2), (3, 0))), plan)
    assert (outcome.lost, outcome.lost_attempts) == (None, ((1, 2), (2, 2), (3, 0)))


async def test_the_pod_of_an_attempt_has_a_name_of_its_own_and_the_host_name_of_the_others() -> None:
    bench, plan = Bench(), gang(4)
    await again(bench, plan, 1, 2)
    (name,) = bench.api.named("pods")
    pod = bench.api.objects[core("lab", "pods", name)]
    member = member_of(plan, 1)
    assert name == plan.pod_name(member, 0, 2) != plan.pod_name(member, 0)
    assert pod["metadata"]["labels"]["muster.dev/attempt"] == "2"
    assert pod["spec"]["hostname"] == plan.hostname(member, 0)


@pytest.mark.parametrize(("path", "read"), [("experiments", "get Experiment lab/moe"), ("pods", "list Pods in")])
async def test_a_refused_read_of_a_launch_is_named(path: str, read: str) -> None:
    bench, plan = Bench(), gang()
    submitted(bench.api, plan)
    bench.api.fail(path, Forbidden("no", status=403))
    assert f"refuses to {read}" in refusal_in(await confirm(bench, plan, 0)).message
