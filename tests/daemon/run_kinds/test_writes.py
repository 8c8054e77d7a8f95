"""Status writes of objects of other kinds: lost answers, conflicts, missing rights, and another leader."""

import asyncio

import pytest
from structlog.testing import capture_logs

from muster.api.errors import Conflict, Forbidden, NotFound, Unreachable
from muster.kinds.planning.run_object import TYPE, from_object
from tests.daemon.run_kinds.test_jaxjobs import running
from tests.daemon.run_kinds.world import DISCOVERY, JOB, World, job, virtually


@pytest.mark.parametrize("after", [True, False])
@virtually
async def test_a_lost_answer_of_a_write_makes_one_event_and_one_state(world: World, after: bool) -> None:
    await running(world)
    world.api.fail("PUT /apis/kubeflow.org", Unreachable("reset"), after=after)
    world.cluster.end(0, 1)
    await asyncio.sleep(10)
    assert world.conditions == ["Created", "(Running)", "Succeeded"]
    assert len(world.cluster.events("AllMembersSucceeded")) == 1


@virtually
async def test_a_conflicting_write_of_others_is_read_first(world: World) -> None:
    await running(world)
    world.api.fail("PUT /apis/kubeflow.org", Conflict("changed", status=409, reason="Conflict"), times=2)
    world.crash(1)
    await asyncio.sleep(10)
    record = from_object(world.status)
    assert record is not None
    assert (record.epoch, record.restarts) == (1, 1)
    assert world.conditions == ["Created", "Restarting"]


@virtually
async def test_a_status_that_another_client_extends_is_kept(world: World) -> None:
    await running(world)
    stored = world.api.objects[JOB]
    theirs = {"type": "example.org/Checked", "status": "True"}
    status = {**stored["status"], "conditions": [*stored["status"]["conditions"], theirs]}
    world.api.put(JOB, {**stored, "status": status, "metadata": {**stored["metadata"], "labels": {"a": "b"}}})
    await asyncio.sleep(30)
    world.cluster.end(0, 1)
    await asyncio.sleep(5)
    assert world.conditions[-1] == "Succeeded"
    assert theirs in world.status["conditions"]
    assert world.status["conditions"][0]["type"] == TYPE


@virtually
async def test_a_status_that_finds_no_object_is_written_again_a_minute_later(world: World) -> None:
    """The kind may not have been served for a while: nothing else reports that the object still exists."""
    await running(world)
    world.api.fail("PUT /apis/kubeflow.org", NotFound("the server could not find the requested resource", status=404))
    world.cluster.end(0, 1)
    await asyncio.sleep(62)
    assert world.conditions == ["Created", "(Running)", "Succeeded"]


@virtually
async def test_missing_rights_for_the_kind_are_reported(world: World) -> None:
    denied = 'jaxjobs.kubeflow.org is forbidden: User "musterd" cannot list resource "jaxjobs"'
    world.refuse_watches(Forbidden(denied, status=403, reason="Forbidden"))
    world.serve()
    daemon = await world.daemon()
    await asyncio.sleep(60)
    assert denied in daemon.health.unready()["watch jaxjobs"]
    world.refuse_watches(None)
    world.api.put(JOB, job())
    await asyncio.sleep(60)
    assert daemon.health.unready() == {}
    assert len(world.api.named("pods")) == 2


@virtually
async def test_a_kind_that_is_removed_and_installed_again_is_found_again(world: World) -> None:
    await running(world)
    daemon = world.daemons[0][0]
    world.api.put(DISCOVERY, {"kind": "APIResourceList", "resources": []})
    world.refuse_watches(NotFound("the server could not find the requested resource", status=404))
    world.api.remove(JOB)
    world.api.remove("/api/v1/namespaces/team/services/train")  # as the garbage collector does
    with capture_logs() as logged:
        await asyncio.sleep(700)
        world.api.fail(f"GET {DISCOVERY}", Unreachable("connection refused"), times=2)
        await asyncio.sleep(700)
    waits = [each["problem"] for each in logged if each["event"] == "kind is not watched yet"]
    missing = "the API server serves no jaxjobs of kubeflow.org/v1"
    assert waits == [missing, f"GET {DISCOVERY}: connection refused", missing], "each cause is logged once"
    assert "jaxjobs" not in daemon.informers.reflectors
    assert daemon.health.unready() == {}
    world.refuse_watches(None)
    world.serve()
    world.api.put(JOB, job(3))
    await asyncio.sleep(70)
    assert "jaxjobs" in daemon.informers.reflectors
    owner = world.api.objects[JOB]["metadata"]["uid"]
    pods = [pod for path, pod in world.api.objects.items() if "/pods/" in path]
    assert sum(pod["metadata"]["ownerReferences"][0]["uid"] == owner for pod in pods) == 3


@virtually
async def test_another_leader_goes_on_where_the_first_one_stopped(world: World) -> None:
    """The new leader reads the latest records first, and makes no pod twice."""
    world.serve()
    world.cluster.roll = world.cluster.arrived(0, 1, size=2)
    first = await world.daemon(name="one")
    await asyncio.sleep(30)
    second = await world.daemon(name="two")
    world.api.put(JOB, job())
    await asyncio.sleep(5)
    assert (first.leading, second.leading) == (True, False)
    made = world.api.named("pods")
    assert len(made) == 2
    await world.stop(0)
    await asyncio.sleep(20)
    assert second.leading
    world.cluster.start(0, 1)
    await asyncio.sleep(6)
    assert world.api.named("pods") == made
    assert world.conditions == ["Created", "Running"]
