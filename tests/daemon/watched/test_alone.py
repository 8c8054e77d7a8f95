"""On the local cluster no controller runs a JobSet that is not Muster's: its status shows that, with a next step."""

import asyncio
from dataclasses import replace

from muster.client.snapshot import EventSummary
from muster.client.watched import kind_of, look
from muster.client.watching import as_musterd_said
from muster.daemon.settings import Settings
from tests.daemon.virtual_daemon import edit
from tests.daemon.watched.world import World, virtually, virtually_with_writes
from tests.fakes.history import Object
from tests.kinds.jobset.jobsets import jobset

PATH = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team/jobsets/train"
SAID = "nothing runs JobSets here; set spec.managedBy: muster.dev/muster, or muster submit runs it as an Experiment"


def unmanaged() -> Object:
    """Return a JobSet that names no manager."""
    made = jobset(name="train")
    del made["spec"]["managedBy"]
    made["metadata"] = {"name": "train", "namespace": "team", "uid": "u", "resourceVersion": "1"}
    return made


@virtually
async def test_a_jobset_that_nothing_runs_says_so_and_what_to_do(world: World) -> None:
    world.serve("jobsets")
    await world.start(Settings(watch_kinds="jobsets", alone=True))
    world.api.put(PATH, unmanaged())
    await asyncio.sleep(3)
    record, stuck = world.found("jobset/train").record, world.stuck("jobset/train")
    assert (stuck.status, stuck.reason, stuck.message) == (True, "PodsMissing", SAID)
    assert record.message.startswith(SAID)
    (event,) = world.cluster.events("Stuck")
    assert event["message"] == f"PodsMissing: {SAID}"


def test_a_reader_of_the_object_sees_what_musterd_said() -> None:
    made = unmanaged()
    kind = kind_of(made, "JobSet")
    assert kind is not None
    seen = look(kind, made, [], 1_000.0)
    event = EventSummary(at=1_000.0, reason="Stuck", message=SAID, source="muster", type="Warning", count=1)
    watching = replace(event, reason="Watching", message="watching over 1 member", type="Normal")
    for events in ([event, watching], [watching, event]):  # of one second
        assert as_musterd_said(seen, events).message.startswith(SAID)


@virtually_with_writes
async def test_a_jobset_that_is_handed_to_muster_afterwards_is_run(world: World) -> None:
    world.serve("jobsets")
    await world.start(Settings(watch_kinds="pods,jobsets", run_kinds="jobsets", alone=True))
    world.api.put(PATH, unmanaged())
    await asyncio.sleep(6)
    edit(world.api, PATH, managedBy="muster.dev/muster")
    await asyncio.sleep(6)
    assert len(world.api.named("pods")) == 1
    assert world.found("jobset/train").plan.watching.unrun == ""
