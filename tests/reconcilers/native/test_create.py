"""CreatePods creates each member once, whatever fails in between."""

import asyncio
from dataclasses import replace

import pytest

from muster.api.errors import ApiError, Conflict, Forbidden, Invalid, NotFound, Throttled, Unreachable
from muster.reconcilers.result import Outcome
from muster.state.vocabulary.actions import CreatePods
from muster.state.vocabulary.plan import Plan
from tests.fakes.engines import Bench, finished
from tests.fakes.plans import gang, member_of, members, pod_path
from tests.reconcilers.conftest import do, edit, refusal_in

POST = "POST /api/v1/namespaces/lab/pods"


async def create(bench: Bench, plan: Plan, epoch: int = 0) -> Outcome:
    return finished(await do(bench, CreatePods(epoch, members(plan)), plan, epoch))


async def test_the_gang_is_created_and_the_highest_version_returned() -> None:
    bench, plan = Bench(), gang(4)
    outcome = await create(bench, plan)
    assert outcome == Outcome(version=4)
    assert bench.api.named("pods") == sorted(plan.pod_name(member, 0) for member in plan.members())


async def test_a_lost_answer_makes_no_second_pod() -> None:
    bench, plan = Bench(), gang(4)
    lost = Unreachable("the connection broke")
    bench.api.fail(POST, lost, after=True)
    with pytest.raises(Unreachable):
        await create(bench, plan)
    outcome = await create(bench, plan)
    assert outcome.version == 4
    assert len(bench.api.named("pods")) == 4


async def test_the_server_refuses_unknown_fields_of_pods_with_a_template_only() -> None:
    bench, plan = Bench(), gang(1)
    templated = replace(plan, groups=(replace(plan.groups[0], template={"spec": {"affinity": {"typo": 1}}}),))
    await create(bench, plan)
    await create(bench, templated, 1)
    posts = [request.params for request in bench.api.requests if request.method == "POST"]
    assert posts == [{}, {"fieldValidation": "Strict"}]


async def test_a_foreign_pod_of_that_name_is_a_final_refusal() -> None:
    bench, plan = Bench(), gang(2)
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "squatter", "uid": "j1", "controller": True}
    bench.api.put(pod_path(plan, 0), {"kind": "Pod", "metadata": {"ownerReferences": [owner]}})
    taken = refusal_in(await create(bench, plan))
    assert (taken.reason, taken.final) == ("NameTaken", True)
    name = f"{plan.namespace}/{plan.pod_name(member_of(plan, 0), 0)}"
    assert taken.message == (
        f"Pod {name} exists and is controlled by Job squatter (uid j1); it does not belong to Experiment {plan.name} "
        f"(uid {plan.uid}). Delete that Pod, or give the experiment another name, and start the experiment again."
    )


@pytest.mark.parametrize(
    ("label", "value", "shown"),
    [("muster.dev/experiment-uid", None, "missing"), ("muster.dev/rank", "7", "'7'"), ("muster.dev/epoch", "", "''")],
)
async def test_a_pod_whose_labels_were_changed_is_reported(label: str, value: str | None, shown: str) -> None:
    """No watch would show it as a member: the experiment would wait for it forever without an explanation."""
    bench, plan = Bench(), gang(1)
    await create(bench, plan)
    labels = bench.api.objects[pod_path(plan, 0)]["metadata"]["labels"] | {label: value}
    kept = {name: stated for name, stated in labels.items() if stated is not None}
    edit(bench, pod_path(plan, 0), metadata={"labels": kept})
    words = refusal_in(await create(bench, plan))
    assert (words.reason, words.final) == ("PodAltered", False)
    assert f"{label}=" in words.message
    assert f"the label is now {shown}" in words.message


async def test_labels_for_people_may_be_changed() -> None:
    bench, plan = Bench(), gang(1)
    await create(bench, plan)
    labels = bench.api.objects[pod_path(plan, 0)]["metadata"]["labels"]
    changed = {"app.kubernetes.io/managed-by": "platform", "muster.dev/role": "x"}
    edit(bench, pod_path(plan, 0), metadata={"labels": labels | changed})
    assert (await create(bench, plan)).refusal is None


async def test_a_pod_of_a_members_name_without_a_controller_is_waited_for_and_not_taken_over() -> None:
    bench, plan = Bench(), gang(1)
    bench.api.put(pod_path(plan, 0), {"kind": "Pod", "metadata": {"ownerReferences": [{"uid": plan.uid}]}})
    taken = refusal_in(await create(bench, plan))
    assert (taken.reason, taken.final) == ("PodAltered", False)
    assert "has no ownerReference of a controller" in taken.message


async def test_a_foreign_pod_that_is_terminating_is_a_passing_refusal() -> None:
    bench, plan = Bench(), gang(1)
    bench.api.put(pod_path(plan, 0), {"kind": "Pod", "metadata": {"deletionTimestamp": "2030-01-01T00:00:00Z"}})
    assert not refusal_in(await create(bench, plan)).final


@pytest.mark.parametrize(
    ("error", "reason", "final"),
    [
        (Forbidden("exceeded quota: gpus", status=403), "QuotaExceeded", False),
        (Invalid("spec.hostname: too long", status=422), "PodRejected", True),
        (NotFound('namespaces "lab" not found', status=404), "NamespaceGone", True),
    ],
)
async def test_a_rejected_create_is_a_refusal_and_stops_the_batch(error: ApiError, reason: str, final: bool) -> None:
    bench, plan = Bench(concurrency=1), gang(8)
    bench.api.fail(POST, error)
    outcome = await create(bench, plan)
    assert (refusal_in(outcome).reason, refusal_in(outcome).final) == (reason, final)
    assert error.message in refusal_in(outcome).message
    assert len(bench.api.asked(POST)) == 1


async def test_pods_created_before_a_refusal_count() -> None:
    bench, plan = Bench(concurrency=2), gang(2)
    bench.api.fail(POST, Forbidden("quota", status=403))
    outcome = await create(bench, plan)
    assert outcome.version == 1
    assert refusal_in(outcome).reason == "PodsForbidden"


async def test_a_final_refusal_replaces_passing_ones_and_errors() -> None:
    bench, plan = Bench(), gang(3)
    bench.api.fail(POST, Unreachable("connection reset"))
    bench.api.fail(POST, Forbidden("quota", status=403))
    bench.api.fail(POST, Invalid("no such field", status=422))
    assert refusal_in(await create(bench, plan)).reason == "PodRejected"


async def test_a_long_message_of_a_webhook_is_cut_and_the_advice_kept() -> None:
    bench, plan = Bench(), gang(1)
    bench.api.fail(POST, Forbidden("no " * 100_000, status=403))
    message = refusal_in(await create(bench, plan)).message
    assert len(message) < 1024
    assert message.endswith("Muster tries again.")


@pytest.mark.parametrize("error", [Unreachable("connection reset"), Conflict("the quota was modified", status=409)])
async def test_an_error_is_raised_after_the_requests_under_way_have_ended(error: ApiError) -> None:
    bench, plan = Bench(concurrency=4), gang(64)
    bench.api.fail(POST, error)
    with pytest.raises(type(error)) as raised:
        await create(bench, plan)
    assert raised.value is error
    assert bench.api.under_way == 0
    assert len(bench.api.asked(POST)) < 8, "a busy server is left alone"


@pytest.mark.parametrize(
    "error", [Throttled("too many requests", status=429, retry_after=3.0), ApiError("etcd leader changed", status=500)]
)
async def test_a_busy_server_is_a_passing_refusal_that_stops_the_batch(error: ApiError) -> None:
    bench, plan = Bench(concurrency=4), gang(64)
    bench.api.fail(POST, error)
    refused = refusal_in(await create(bench, plan))
    assert (refused.passing, refused.retry_after) == (True, error.retry_after or 0.0)
    assert len(bench.api.asked(POST)) < 8


async def test_a_pod_deleted_between_create_and_get_is_a_conflict() -> None:
    bench, plan = Bench(), gang(1)
    await create(bench, plan)
    bench.api.fail("GET", NotFound("gone", status=404))
    with pytest.raises(Conflict, match="was gone when it was read"):
        await create(bench, plan)


async def test_an_unreadable_answer_is_an_error_that_names_the_request() -> None:
    bench, plan = Bench(), gang(1)
    bench.api.put(pod_path(plan, 0), {"metadata": {"ownerReferences": "none of your business"}})
    with pytest.raises(ApiError, match=r"GET /api/v1/namespaces/lab/pods/moe-worker-0-0-.* cannot be read"):
        await create(bench, plan)


async def test_text_that_json_cannot_hold_is_refused_before_any_request() -> None:
    bench = Bench()
    outcome = await create(bench, gang(2, command="echo \ud83e"))
    assert (refusal_in(outcome).reason, refusal_in(outcome).final) == ("PodRejected", True)
    assert not bench.api.requests


async def test_cancelling_a_create_cancels_its_requests() -> None:
    bench, plan = Bench(concurrency=4), gang(64)
    bench.api.gate.clear()
    doing = asyncio.create_task(create(bench, plan))
    await bench.api.crowd(4)
    doing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await doing
    assert bench.api.under_way == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}
    bench.api.gate.set()
    assert bench.api.named("pods") == []
    await create(bench, plan)
    assert len(bench.api.named("pods")) == 64


async def test_a_small_gang_does_not_wait_for_all_pods_of_a_large_one() -> None:
    bench, large, small = Bench(concurrency=4), gang(200), gang(1, name="small", uid="u2")
    bench.api.gate.clear()
    first = asyncio.create_task(create(bench, large))
    await bench.api.crowd(4)
    second = asyncio.create_task(create(bench, small))
    bench.api.gate.set()
    await second
    assert len(bench.api.asked(POST)) < 50
    await first
    assert bench.api.busiest == 4
    assert len(bench.api.named("pods")) == 201


async def test_an_empty_create_sends_no_request() -> None:
    bench, plan = Bench(), gang(1)
    assert await do(bench, CreatePods(0, ()), plan) == Outcome()
