"""JobSet's recorded traces on a whole daemon, event by event: it reports what JobSet does not, and writes nothing."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from muster.api.values.timestamps import whole_time
from muster.client.snapshot import EventSummary
from muster.client.watched import kind_of, look
from muster.client.watching import as_musterd_reported
from muster.daemon.settings import Settings
from muster.state.vocabulary.record import Phase
from tests.daemon.virtual_daemon import edit
from tests.daemon.watched.world import PODS, World, virtually, virtually_with_writes
from tests.fakes.history import Object
from tests.kinds.jobset.jobsets import jobset

GOLDEN = Path(__file__).parents[2] / "kinds/jobset/lives/golden"
JOBSET = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team/jobsets/t"
PREFIX = "jobset.sigs.k8s.io/"


def trace(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    return found


def put(world: World, spec: dict[str, Any], status: dict[str, Any] | None, **metadata: Any) -> None:
    """Create or change the JobSet."""
    own = {"namespace": "team", **metadata}
    world.api.put(JOBSET, {"kind": "JobSet", "metadata": own, "spec": spec, "status": status or {}})


def pod(world: World, seen: dict[str, Any], *, jobset: str = "t") -> None:
    """Make or change a pod as a trace has it. A pod of another run is another one."""
    group, job, index, run = seen["group"], seen["job"], seen["index"], seen["run"]
    name = f"{jobset}-{group}-{job}-{index}-r{run}"
    labels = {f"{PREFIX}jobset-name": jobset, f"{PREFIX}replicatedjob-name": group}
    labels |= {f"{PREFIX}job-index": str(job), f"{PREFIX}restart-attempt": str(run)}
    labels |= {"batch.kubernetes.io/job-name": f"{jobset}-{group}-{job}", "batch.kubernetes.io/controller-uid": "j"}
    labels |= {"batch.kubernetes.io/job-completion-index": str(index)}
    owner = {"kind": "Job", "apiVersion": "batch/v1", "name": f"{jobset}-{group}-{job}", "uid": "j", "controller": True}
    if f"{PODS}/{name}" not in world.api.objects or "exit" not in seen:
        world.pod(name, ready=seen["ready"], labels=labels, ownerReferences=[owner], ip=f"10.0.0.{index + 1}")
    if "exit" in seen:
        world.end(name, seen["exit"])


async def play(world: World, recorded: dict[str, Any]) -> list[tuple[Phase, int]]:
    """Play a trace. Return phase and epoch of the run, each once, in order."""
    spec, status, at = recorded["spec"], None, 0.0
    found: list[tuple[Phase, int]] = []
    put(world, spec, None)
    for event in recorded["events"]:
        await asyncio.sleep(max(0.0, event["t"] - at))
        at = max(at, event["t"])
        if "status" in event:
            status = event["status"]
            for name in [name for name in world.api.objects if name.startswith(f"{PODS}/t-")]:
                if int(name.rsplit("-r", 1)[1]) < status.get("restarts", 0):
                    world.api.remove(name)
        elif "edit" in event:
            spec = spec | event["edit"]
        else:
            pod(world, event["pod"])
        if "pod" not in event:
            put(world, spec, status)
        await asyncio.sleep(0.05)
        at += 0.05
        record = world.found("jobset/t").record
        if not found or found[-1] != (record.phase, record.epoch):
            found.append((record.phase, record.epoch))
    return found


@pytest.mark.parametrize(("name", "lives"), [
    ("success", [(Phase.PENDING, 0), (Phase.ASSEMBLING, 0), (Phase.RUNNING, 0), (Phase.SUCCEEDED, 0)]),
    ("suspend_resume", [
        (Phase.SUSPENDED, 0), (Phase.PENDING, 0), (Phase.ASSEMBLING, 0), (Phase.RUNNING, 0), (Phase.SUCCEEDED, 0),
    ]),
    ("fail_restart_exhaust", [
        (Phase.PENDING, 0), (Phase.ASSEMBLING, 0), (Phase.RUNNING, 0),
        (Phase.PENDING, 1), (Phase.ASSEMBLING, 1), (Phase.RUNNING, 1), (Phase.FAILED, 1),
    ]),
])  # fmt: skip
@virtually
async def test_the_lives_of_a_jobset_are_those_of_its_controller(
    world: World, name: str, lives: list[tuple[Phase, int]]
) -> None:
    world.serve("jobsets")
    await world.daemon("jobsets,jobs")
    assert await play(world, trace(name)) == lives


@virtually
async def test_the_member_that_failed_is_named_seconds_before_the_jobset_acts(world: World) -> None:
    """JobSet's status names a Job at most, and acts when all of its pods have ended."""
    await world.watches("jobsets")
    recorded = trace("fail_restart_exhaust")
    at = next(number for number, event in enumerate(recorded["events"]) if event.get("pod", {}).get("exit"))
    await play(world, {**recorded, "events": recorded["events"][: at + 1]})
    await asyncio.sleep(1)
    record = world.found("jobset/t").record
    assert record.cause is not None
    assert (record.cause.rank, record.cause.exit_code, record.cause.pod) == (1, 7, "t-w-0-1-r0")
    assert "rank 1 (t-w-0-1-r0) ended with exit code 7" in record.message
    failed = world.cluster.events("MemberFailed")
    assert [each["involvedObject"]["kind"] for each in failed] == ["JobSet"]


@virtually_with_writes
async def test_a_jobset_that_muster_runs_is_not_watched(world: World) -> None:
    """One with another manager is watched over; its pods are."""
    await world.watches("jobsets", run_kinds="jobsets")
    spec = {**trace("success")["spec"], "managedBy": "muster.dev/muster"}
    put(world, spec, None)
    await asyncio.sleep(3)
    assert world.found("jobset/t").plan.engine.value == "native"


@virtually
async def test_a_hostile_object_disturbs_no_other(world: World) -> None:
    """Objects that the real API server would refuse, and some that it lets through."""
    await world.watches("jobsets")
    put(world, trace("success")["spec"], None)
    hostile: list[Any] = [
        None, [], "text", {"replicatedJobs": 7}, {"replicatedJobs": [None]}, {"replicatedJobs": [{"name": 3}]},
        {"replicatedJobs": [{"name": "a", "replicas": 10**9}]},
        {"replicatedJobs": [{"name": "a"}, {"name": "a"}]},
        {"replicatedJobs": [{"name": "a", "replicas": -5, "template": {"spec": {"completions": -1}}}]},
    ]  # fmt: skip
    for number, spec in enumerate(hostile):
        path = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/team/jobsets/bad-{number}"
        status = {"conditions": [None, {"type": "Failed", "status": "True", "reason": 7}], "restarts": "many"}
        world.api.put(path, {"kind": "JobSet", "metadata": {"namespace": "team"}, "spec": spec, "status": status})
    recorded = trace("success")
    assert (await play(world, recorded))[-1] == (Phase.SUCCEEDED, 0)
    assert "jobset/t" in world.titles()


def workers(world: World, count: int) -> None:
    for index in range(count):
        pod(world, {"group": "w", "job": 0, "index": index, "run": 0, "ready": True})


THREE = {"replicatedJobs": [{"name": "w", "replicas": 1, "template": {"spec": {"parallelism": 3, "completions": 3}}}]}


@virtually
async def test_a_jobset_whose_deletion_is_held_says_so_and_ends_with_its_pods(world: World) -> None:
    world.serve("jobsets")
    put(world, THREE, None)
    workers(world, 3)
    await world.daemon("jobsets")
    assert world.found("jobset/t").record.message == "3/3 members are ready"
    going = {"deletionTimestamp": whole_time(world.cluster.wall()), "finalizers": ["foregroundDeletion"]}
    put(world, THREE, None, **going)
    await asyncio.sleep(5)
    held = "being deleted; held by the finalizer foregroundDeletion"
    record = world.found("jobset/t").record
    assert (record.phase, record.reason) == (Phase.RUNNING, "Deleting")
    assert record.message == f"{held}; 3 pods still run (first: t-w-0-0-r0), and what they hold is not free"
    for index in range(3):
        world.api.remove(f"{PODS}/t-w-0-{index}-r0")
    await asyncio.sleep(70)
    record = world.found("jobset/t").record
    ended = f"it was deleted before its end; {held}; no pod runs"
    assert (record.phase, record.reason, record.message) == (Phase.FAILED, "Deleted", ended)
    story = "".join(world.lines())
    assert "Stuck" not in story
    assert "MemberFailed" not in story


PATH = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team/jobsets/train"
SAID = "nothing runs JobSets here; set spec.managedBy: muster.dev/muster, or muster submit runs it as an Experiment"


def unmanaged() -> Object:
    """Return a JobSet that names no manager."""
    made = jobset(name="train")
    del made["spec"]["managedBy"]
    made["metadata"] = {"name": "train", "namespace": "team", "uid": "u", "resourceVersion": "1"}
    return made


@virtually
async def test_a_jobset_that_nothing_runs_reports_it_and_what_to_do(world: World) -> None:
    world.serve("jobsets")
    await world.start(Settings(watch_kinds="jobsets", alone=True))
    world.api.put(PATH, unmanaged())
    await asyncio.sleep(3)
    record, stuck = world.found("jobset/train").record, world.stuck("jobset/train")
    assert (stuck.status, stuck.reason, stuck.message) == (True, "PodsMissing", SAID)
    assert record.message.startswith(SAID)
    (event,) = world.cluster.events("Stuck")
    assert event["message"] == f"PodsMissing: {SAID}"


def test_a_reader_of_the_object_sees_what_musterd_reported() -> None:
    made = unmanaged()
    kind = kind_of(made, "JobSet")
    assert kind is not None
    seen = look(kind, made, [], 1_000.0)
    event = EventSummary(at=1_000.0, reason="Stuck", message=SAID, source="muster", type="Warning", count=1)
    watching = replace(event, reason="Watching", message="watching over 1 member", type="Normal")
    for events in ([event, watching], [watching, event]):  # of one second
        assert as_musterd_reported(seen, events).message.startswith(SAID)


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
