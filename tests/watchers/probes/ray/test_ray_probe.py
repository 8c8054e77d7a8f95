"""The Ray probe against recorded answers of a real dashboard, and against answers that no dashboard gives."""

import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from muster.daemon.prober_pool import ReportsChanges
from muster.state.view.roll import CoordinatorState, RankError, RankState, RollAnswer, joined, of_rank
from muster.watchers.probes.ray.answers import SUMMARY
from muster.watchers.probes.ray.probe import BASE_BYTES, RayProbe
from tests.fakes.ray import AGENT, GCS, NODES, VERSION, FakeRay, hang, listing, node

RECORDED = json.loads((Path(__file__).parent / "bodies.json").read_text(encoding="utf-8"))
ALIVE, DEAD, ENDED = RankState.CONNECTED, RankState.FAILED, RankState.LEFT
HEAD = node("10.0.0.1", head=True, group="headgroup")
JOB = "/api/jobs/run-0"


@pytest.fixture
async def ray() -> AsyncIterator[FakeRay]:
    async with FakeRay() as fake:
        fake.answers |= {NODES: listing(HEAD, node("10.0.0.2")), VERSION: {"session_name": "session_1"}}
        fake.answers |= {GCS: "success", AGENT: "raylet: success\ngcs: success"}
        yield fake


def probe_of(fake: FakeRay, deadline: float = 10.0, **changes: Any) -> RayProbe:
    given: dict[str, Any] = {"expected": 3, "job": "run-0", "submitter": 2, **changes}
    given |= {"dashboard": fake.port, "agent": fake.port, "deadline": deadline}
    return RayProbe("127.0.0.1:6379", clock=lambda: 1000.0, **given)


async def look(fake: FakeRay, suspects: tuple[str, ...] = (), **changes: Any) -> RollAnswer:
    probe = probe_of(fake, **changes)
    probe.suspects = suspects
    try:
        return await probe.snapshot()
    finally:
        await probe.close()


def by_identity(answer: RollAnswer) -> dict[str, RankState]:
    return dict(zip(answer.identities, answer.states, strict=True))


# --- recorded ----------------------------------------------------------------------------------------------------


async def test_a_cluster_of_four_nodes_is_known_by_address(ray: FakeRay) -> None:
    ray.answers |= RECORDED["a-cluster-ready"]
    answer = await look(ray, expected=5)
    assert answer.coordinator is CoordinatorState.SERVING
    assert by_identity(answer) == {f"10.77.0.{last}": ALIVE for last in (12, 13, 14, 15)}
    assert (answer.at, answer.expected, answer.protocol, answer.errors) == (1000.0, 5, "ray", ())
    assert answer.detail == "4 Ray nodes are alive"
    assert answer.incarnation is not None


async def test_nodes_that_ended_are_reported_with_rays_reason(ray: FakeRay) -> None:
    ray.answers[NODES] = RECORDED["b-worker-replaced"][NODES]
    answer = await look(ray)
    states = by_identity(answer)
    assert sorted(states.values()) == [ALIVE] * 5 + [DEAD], "one came back with the same address"
    said = {answer.identities[error.rank]: error.text for error in answer.errors}
    assert said["10.77.0.15"] == "Terminated due to preemption: Node received SIGTERM; draining before shutdown."
    assert all(states[ip] is DEAD for ip in said)


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        ("f-rayjob-success", "job run-0 SUCCEEDED: Job finished successfully."),
        (
            "g-rayjob-fails-with-retry",
            "job run-0 FAILED: Job entrypoint command failed with exit code 1 (JOB_ENTRYPOINT_COMMAND_ERROR, exit",
        ),
    ],
)
async def test_a_job_that_ended_shows_that_the_submitter_arrived_and_left(
    ray: FakeRay, recorded: str, said: str
) -> None:
    (job,) = RECORDED[recorded]["/api/jobs/"]
    ray.answers[JOB] = job
    answer = await look(ray)
    assert by_identity(answer)[of_rank(2)] is ENDED
    assert said in answer.detail
    assert "\n" not in answer.detail
    assert answer.work is not None
    assert answer.work.ended


# --- the job -----------------------------------------------------------------------------------------------------


async def test_the_submitter_has_arrived_once_its_job_is_known(ray: FakeRay) -> None:
    before = await look(ray)
    assert of_rank(2) not in before.identities
    ray.answers[JOB] = {"status": "PENDING", "message": "It may be waiting for resources"}
    after = await look(ray)
    assert by_identity(after)[of_rank(2)] is ALIVE
    assert after.detail == "2 Ray nodes are alive; job run-0 PENDING: It may be waiting for resources"


async def test_the_tasks_of_a_running_job_are_counted_after_the_roll_and_not_at_each_look(ray: FakeRay) -> None:
    tasks = {"train": {"state_counts": {"FINISHED": 7, "RUNNING": 1}}}
    counted = {"result": {"node_id_to_summary": {"cluster": {"summary": tasks}}}, "total": 8}
    ray.answers |= {
        JOB: {"status": "RUNNING", "message": "Job is currently running."},
        SUMMARY: {"data": {"result": counted}},
    }
    probe = probe_of(ray)
    try:
        for _ in range(3):
            answer = await probe.snapshot()
            assert answer.detail == "2 Ray nodes are alive; job run-0 RUNNING; 7 of 8 tasks finished, 1 running"
    finally:
        await probe.close()
    paths = [request.path for request in ray.asked]
    assert paths.count(SUMMARY) == 1
    assert paths.index(SUMMARY) > paths.index(NODES)


async def test_tasks_are_not_asked_for_without_a_running_job(ray: FakeRay) -> None:
    ray.answers[JOB] = {"status": "SUCCEEDED", "message": ""}
    await look(ray)
    assert SUMMARY not in [request.path for request in ray.asked]


async def test_a_job_is_not_forgotten_while_its_part_of_the_dashboard_hangs(ray: FakeRay) -> None:
    ray.answers[JOB] = {"status": "RUNNING", "message": ""}
    probe = probe_of(ray, deadline=2.0)
    first = await probe.snapshot()
    ray.answers |= {JOB: hang, VERSION: hang}
    second = await probe.snapshot()
    await probe.close()
    assert (second.coordinator, second.identities) == (CoordinatorState.SERVING, first.identities)
    assert second.incarnation == first.incarnation


async def test_another_session_is_another_life_without_the_old_job(ray: FakeRay) -> None:
    ray.answers[JOB] = {"status": "RUNNING", "message": ""}
    probe = probe_of(ray)
    first = await probe.snapshot()
    del ray.answers[JOB]
    ray.answers[VERSION] = {"session_name": "session_2"}
    second = await probe.snapshot()
    await probe.close()
    assert first.incarnation != second.incarnation
    assert of_rank(2) in first.identities
    assert of_rank(2) not in second.identities


# --- nodes of a cluster that is gone ------------------------------------------------------------------------------

GONE = (503, "raylet: RPC error: WrongClusterID: Perhaps the client is accessing GCS after it has restarted.")


async def test_a_suspect_whose_agent_names_another_cluster_is_stale_and_has_not_arrived(ray: FakeRay) -> None:
    ray.answers |= {NODES: listing(node("127.0.0.9", head=True)), AGENT: GONE}
    answer = await look(ray, ("127.0.0.1",))
    assert by_identity(answer) == {"127.0.0.9": ALIVE, "127.0.0.1": RankState.STALE}
    roll = joined(answer, {"127.0.0.9": 0, "127.0.0.1": 1})
    assert (roll.arrived, roll.missing, roll.errors) == (frozenset({0}), (1, 2), ())


@pytest.mark.parametrize("agent", ["raylet: success", 503, 404, (200, GONE[1])])
async def test_another_answer_of_a_suspect_says_nothing(ray: FakeRay, agent: Any) -> None:
    ray.answers |= {NODES: listing(node("127.0.0.9", head=True)), AGENT: agent}
    answer = await look(ray, ("127.0.0.1",))
    assert by_identity(answer) == {"127.0.0.9": ALIVE}


async def test_a_suspect_that_has_joined_meanwhile_is_not_stale_and_one_that_is_dead_in_the_list_is(
    ray: FakeRay,
) -> None:
    nodes = [node("127.0.0.9", head=True), node("127.0.0.1"), node("127.0.0.2", "DEAD", why="of a life before")]
    ray.answers |= {NODES: listing(*nodes), AGENT: GONE}
    probe = probe_of(ray)
    probe.suspects = ("127.0.0.1",)
    answer = await probe.snapshot()
    assert by_identity(answer) == {"127.0.0.9": ALIVE, "127.0.0.1": ALIVE, "127.0.0.2": DEAD}
    ray.answers[NODES] = listing(nodes[0], node("127.0.0.1", "DEAD", why="of a life before"))
    answer = await probe.snapshot()
    await probe.close()
    assert by_identity(answer) == {"127.0.0.9": ALIVE, "127.0.0.1": RankState.STALE}
    assert answer.errors == ()


# --- who answers -------------------------------------------------------------------------------------------------


async def test_nothing_listens(closed: int) -> None:
    answer = await look(FakeRay(port=closed))
    assert (answer.coordinator, answer.states) == (CoordinatorState.REFUSED, ())
    assert answer.detail == f"port {closed}: connection refused"


@pytest.mark.parametrize(
    ("answers", "state", "detail"),
    [
        ({NODES: hang, GCS: 503, AGENT: 503}, "silent", "the GCS does not answer: RPC error: Deadline Exceeded"),
        ({NODES: 500, GCS: 503, AGENT: 503}, "silent", "the GCS does not answer: RPC error: Deadline Exceeded"),
        ({NODES: hang, GCS: hang}, "silent", "the GCS is healthy, but the dashboard does not list the nodes"),
        ({NODES: hang, GCS: hang, AGENT: hang}, "silent", "no answer within 0.3 s"),
        ({NODES: 404, GCS: 404, AGENT: 404}, "other-protocol", "the list of nodes: HTTP 404"),
        ({NODES: listing()}, "refused", "the head has not joined its own cluster yet"),
        ({NODES: listing(node("10.0.0.2"))}, "refused", "the head has not joined its own cluster yet"),
        ({NODES: "<html>no dashboard</html>"}, "other-protocol", "the answer cannot be read"),
        ({NODES: {"data": {"result": {"result": [{"node_ip": 7}]}}}}, "other-protocol", "the answer cannot be read"),
        ({NODES: []}, "other-protocol", "the answer cannot be read"),
        ({NODES: "[" * 100_000}, "other-protocol", "the answer cannot be read"),
        ({NODES: '{"data":' * 50_000}, "other-protocol", "the answer cannot be read"),
    ],
)
async def test_a_head_that_does_not_list_its_nodes_is_not_serving(
    ray: FakeRay, answers: dict[str, Any], state: str, detail: str
) -> None:
    ray.answers |= answers
    answer = await look(ray, deadline=0.3 if hang in answers.values() else 10.0)
    assert (answer.coordinator.value, answer.states) == (state, ())
    assert detail in answer.detail


async def test_a_false_alarm_of_the_health_check_does_not_count_where_nodes_are_listed(ray: FakeRay) -> None:
    ray.answers |= {GCS: 503, AGENT: 503}
    assert (await look(ray)).coordinator is CoordinatorState.SERVING


# --- a dashboard that is gone ------------------------------------------------------------------------------------

CLOSED = "Ray's GCS serves, but its dashboard does not (port {}: connection refused)"


async def without_dashboard(closed: int, agent: int, gcs: int) -> RollAnswer:
    probe = RayProbe(f"127.0.0.1:{gcs}", dashboard=closed, agent=agent, clock=lambda: 1000.0, expected=3, deadline=10.0)
    return await probe.snapshot()


async def test_a_head_whose_dashboard_is_gone_serves_and_does_not_say_who_has_joined(ray: FakeRay, closed: int) -> None:
    answer = await without_dashboard(closed, agent=ray.port, gcs=closed)
    assert (answer.coordinator, answer.states) == (CoordinatorState.SERVING, (ALIVE,))
    assert answer.lacks == CLOSED.format(closed)
    assert answer.partial == f"{CLOSED.format(closed)}; who has joined is unknown"


async def test_a_head_without_dashboard_and_agent_serves_where_the_port_of_its_gcs_accepts(
    ray: FakeRay, closed: int
) -> None:
    answer = await without_dashboard(closed, agent=closed, gcs=ray.port)
    assert answer.coordinator is CoordinatorState.SERVING
    assert answer.lacks.startswith(f"Ray's GCS accepts connections at port {ray.port}, its dashboard does not serve")
    assert ray.asked == [], "nothing is sent to the GCS"


@pytest.mark.parametrize("agent", [503, 404])
async def test_an_agent_that_does_not_call_the_gcs_healthy_is_believed(ray: FakeRay, closed: int, agent: int) -> None:
    ray.answers |= {AGENT: agent}
    answer = await without_dashboard(closed, agent=ray.port, gcs=ray.port)
    assert (answer.coordinator, answer.lacks) == (CoordinatorState.REFUSED, "")
    assert answer.detail == f"port {closed}: connection refused"


# --- tokens ------------------------------------------------------------------------------------------------------


async def test_without_its_token_ray_serves_and_does_not_say_who_has_joined(ray: FakeRay) -> None:
    ray.token = "s3cret"
    answer = await look(ray)
    assert (answer.coordinator, answer.states) == (CoordinatorState.SERVING, (ALIVE,))
    assert answer.partial.endswith("does not hold (RAY_AUTH_TOKEN); who has joined is unknown")


async def test_without_its_token_the_heads_agent_says_that_it_has_not_joined(ray: FakeRay) -> None:
    ray.token = "s3cret"
    ray.answers[AGENT] = (503, "raylet: Raylet is not alive")
    probe = probe_of(ray)
    before = await probe.snapshot()
    assert before.coordinator is CoordinatorState.REFUSED
    assert before.detail == "the dashboard answers, and the head has not joined its own cluster yet"
    ray.answers[AGENT] = (404, "an older Ray has no such page")
    assert (await probe.snapshot()).coordinator is CoordinatorState.SERVING
    ray.answers[AGENT] = (503, "gcs: Deadline Exceeded")
    assert (await probe.snapshot()).coordinator is CoordinatorState.SERVING, "it had joined"
    await probe.close()


async def test_with_its_token_ray_says_who_has_joined(ray: FakeRay) -> None:
    ray.token = "s3cret"
    answer = await look(ray, token="s3cret")
    assert (answer.partial, len(answer.states)) == ("", 2)
    assert {request.headers["x-ray-authorization"] for request in ray.asked} == {"Bearer s3cret"}


# --- hostile answers ---------------------------------------------------------------------------------------------


async def test_a_redirect_is_not_followed(ray: FakeRay) -> None:
    async def elsewhere(_: web.Request) -> web.StreamResponse:
        raise web.HTTPFound("/secret")

    ray.answers[NODES] = elsewhere
    answer = await look(ray)
    assert answer.coordinator is CoordinatorState.TIMEOUT
    assert "/secret" not in {request.path for request in ray.asked}


async def test_an_answer_without_end_is_read_up_to_its_bound(ray: FakeRay) -> None:
    sent = 0

    async def endless(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" " * 65_536)
            sent += 65_536

    ray.answers[NODES] = endless
    answer = await look(ray, deadline=20.0)
    assert answer.coordinator is CoordinatorState.OTHER_PROTOCOL
    assert "more than" in answer.detail
    assert sent < 8 * BASE_BYTES


async def test_an_answer_that_drips_is_cut_by_time(ray: FakeRay) -> None:
    async def drip(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"{")
        return await hang(request)

    ray.answers[NODES] = drip
    assert (await look(ray, deadline=0.3)).coordinator is CoordinatorState.SILENT


async def test_a_compressed_answer_is_not_unpacked(ray: FakeRay) -> None:
    async def bomb(_: web.Request) -> web.StreamResponse:
        return web.Response(body=gzip.compress(b" " * 10_000_000), headers={"Content-Encoding": "gzip"})

    ray.answers[NODES] = bomb
    answer = await look(ray)
    assert answer.coordinator is CoordinatorState.OTHER_PROTOCOL
    assert {request.headers["Accept-Encoding"] for request in ray.asked} == {"identity"}


async def test_cookies_are_not_kept(ray: FakeRay) -> None:
    async def cookie(_: web.Request) -> web.StreamResponse:
        response = web.json_response(listing(HEAD))
        response.set_cookie("track", "1")
        return response

    ray.answers[NODES] = cookie
    probe = probe_of(ray)
    await probe.snapshot()
    await probe.snapshot()
    await probe.close()
    assert [request.headers.get("Cookie") for request in ray.asked] == [None] * len(ray.asked)


async def test_what_is_no_address_is_no_member(ray: FakeRay) -> None:
    ray.answers[NODES] = listing(HEAD, node("#1"), node("head-0-0"), node(""), node("fd00::1"))
    assert (await look(ray)).identities == ("10.0.0.1", "fd00::1")


async def test_of_two_nodes_with_one_address_the_living_one_counts(ray: FakeRay) -> None:
    ray.answers[NODES] = listing(HEAD, node("10.0.0.2", "DEAD", why="x"), node("10.0.0.2"), node("10.0.0.2", "DEAD"))
    answer = await look(ray)
    assert by_identity(answer) == {"10.0.0.1": ALIVE, "10.0.0.2": ALIVE}
    assert answer.errors == ()


async def test_texts_are_printable_and_short(ray: FakeRay) -> None:
    why = "\x1b[31mred\n" + "long " * 1_000
    ray.answers[NODES] = listing(HEAD, *(node(f"10.0.1.{n}", "DEAD", why=why) for n in range(40)))
    ray.answers[JOB] = {"status": "RUN\x07NING", "message": why}
    answer = await look(ray)
    assert len(answer.errors) == 16
    assert isinstance(answer.errors[0], RankError)
    for text in (answer.detail, *(error.text for error in answer.errors)):
        assert len(text) <= 1_000
        assert text.isprintable()


async def test_a_list_that_ray_cut_is_not_taken_for_the_whole(ray: FakeRay) -> None:
    ray.answers[NODES] = listing(HEAD, total=12_000)
    assert (await look(ray)).partial == "the dashboard lists 10000 of 12000 nodes"


def test_a_dashboard_has_no_changes_to_wait_for(ray: FakeRay) -> None:
    assert not isinstance(probe_of(ray), ReportsChanges)


def test_an_address_is_an_address() -> None:
    with pytest.raises(ValueError, match="use the pod IP"):
        RayProbe("head.example:6379", dashboard=1, agent=1, clock=lambda: 0.0, expected=1)
