"""Status writes of objects of other kinds: lost answers, conflicts, missing rights, and another leader."""

import asyncio

from muster.api.errors import Forbidden, NotFound
from muster.kinds.planning.record_condition import TYPE
from tests.daemon.run_kinds.test_jaxjobs import running
from tests.daemon.run_kinds.world import DISCOVERY, JOB, World, job, virtually


@virtually
async def test_a_status_that_another_client_extends_is_kept(world: World) -> None:
    """A condition of a type that Muster does not have, and a label, survive."""
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
async def test_missing_rights_for_the_kind_are_said(world: World) -> None:
    """``/readyz`` names the watch and the right."""
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
    """The daemon stays ready meanwhile."""
    await running(world)
    daemon = world.daemons[0][0]
    world.api.put(DISCOVERY, {"kind": "APIResourceList", "resources": []})
    world.refuse_watches(NotFound("the server could not find the requested resource", status=404))
    world.api.remove(JOB)
    world.api.remove("/api/v1/namespaces/team/services/train")  # as the garbage collector does
    await asyncio.sleep(700)
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
