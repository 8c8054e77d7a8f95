"""One bad object or pod is reported and disturbs no other run, whatever its kind."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from muster.kinds.registry import WATCHED_KINDS
from muster.state.vocabulary.record import Phase
from tests.daemon.watched.test_jobs import job
from tests.daemon.watched.test_jobs import pod as job_pod
from tests.daemon.watched.test_labelled_pods import labelled, member
from tests.daemon.watched.world import World, virtually
from tests.watched_samples import SAMPLES

MANY = 10**6
HUGE: dict[str, dict[str, Any]] = {name: sample.spec(MANY) for name, sample in SAMPLES.items()}
SMALL: dict[str, dict[str, Any]] = {name: sample.spec(2) for name, sample in SAMPLES.items()}
CRDS = [name for name, kind in WATCHED_KINDS.items() if not kind.virtual]


def put(world: World, name: str, of: str, spec: dict[str, Any], **more: Any) -> None:
    """Create or change an object of that kind."""
    subject = WATCHED_KINDS[of].subject
    metadata = {"namespace": "team", "uid": f"{of}-{name}", "labels": {"muster.dev/observe": name}}
    path = f"/apis/{subject.api_version}/namespaces/team/{subject.plural}/{name}"
    world.api.put(path, {"kind": subject.kind, "metadata": metadata, "spec": spec, **more})


def title(of: str, name: str) -> str:
    return f"{WATCHED_KINDS[of].subject.word.lower()}/{name}"


@pytest.mark.parametrize("of", CRDS)
@virtually
async def test_an_object_of_a_million_members_is_refused_and_said_to_be(world: World, of: str) -> None:
    world.serve(of)
    await world.daemon(f"{of},pods")
    member(world, 0, name="good")
    put(world, "huge", of, HUGE[of])
    await asyncio.sleep(3)
    assert world.titles() == ["pods/good"]
    assert world.found("pods/good").record.phase is Phase.RUNNING
    (event,) = [each for each in world.cluster.events() if each["reason"] == "NotWatchedOver"]
    assert (event["type"], event["involvedObject"]["name"]) == ("Warning", "huge")
    assert "100000" in event["message"]


@pytest.mark.parametrize("of", CRDS)
@virtually
async def test_every_kind_that_is_installed_late_is_found_and_one_that_is_removed_is_forgotten(
    world: World, of: str
) -> None:
    spec = SMALL[of]
    await world.daemon(of)
    put(world, "t", of, spec)
    await asyncio.sleep(30)
    assert world.titles() == []
    world.serve(of)
    await asyncio.sleep(65)
    assert world.titles() == [title(of, "t")]
    world.uninstall(of)
    await asyncio.sleep(620)
    assert world.titles() == []
    world.serve(of)
    await asyncio.sleep(65)
    put(world, "t", of, spec)
    await asyncio.sleep(2)
    assert world.titles() == [title(of, "t")]


@pytest.mark.parametrize("index", ["-1", "1000000000", "0x1", "1e3", "9" * 40, "", "½"])
@virtually
async def test_a_pod_whose_index_is_out_of_range_takes_the_place_of_no_other(world: World, index: str) -> None:
    await world.watches("jobs")
    job(world)
    job_pod(world, "train-0-a", 0)
    job_pod(world, "train-1-a", 1)
    await asyncio.sleep(2)
    job_pod(world, "forged", index, ready=False)
    await asyncio.sleep(2)
    run = world.found("job/train")
    assert {pod.name for pod in run.view.pods()} == {"train-0-a", "train-1-a"}
    assert run.record.message == "2/2 members are ready"


@virtually
async def test_pods_of_another_namespace_or_with_another_uid_are_no_members(world: World) -> None:
    await world.watches("jobs")
    job(world)
    job_pod(world, "train-0-a", 0)
    job_pod(world, "train-1-a", 1)
    job_pod(world, "train-1-b", 1, namespace="other", ready=False)
    job_pod(world, "train-0-z", 0, uid="job-2", ready=False)
    await asyncio.sleep(3)
    run = world.found("job/train")
    assert {(pod.namespace, pod.name) for pod in run.view.pods()} == {("team", "train-0-a"), ("team", "train-1-a")}
    assert run.record.message == "2/2 members are ready"


@virtually
async def test_of_two_objects_that_claim_the_same_pods_the_first_keeps_them(world: World) -> None:
    await world.watches("rayjobs")
    spec = SMALL["rayjobs"]
    status = {"jobDeploymentStatus": "Running", "rayClusterName": "c", "jobId": "j"}
    put(world, "first", "rayjobs", spec, status=status)
    labels = {"ray.io/cluster": "c", "ray.io/group": "headgroup", "ray.io/node-type": "head"}
    world.pod("c-head", labels=labels)
    await asyncio.sleep(2)
    put(world, "second", "rayjobs", spec, status=status)
    await asyncio.sleep(3)
    assert {pod.name for pod in world.found("rayjob/first").view.pods()} == {"c-head"}
    assert list(world.found("rayjob/second").view.pods()) == []
    world.api.delete("/apis/ray.io/v1/namespaces/team/rayjobs/second")
    await asyncio.sleep(2)
    assert {pod.name for pod in world.found("rayjob/first").view.pods()} == {"c-head"}


STATED = {"muster.dev/coordinator-port": "8080", "muster.dev/probe": "http"}


@pytest.mark.parametrize(
    "wrong",
    [{"muster.dev/operator": "mpi\n\x1b[2J" * 400}, {**STATED, "muster.dev/probe-path": "http://169.254.169.254/"}],
)
@virtually
async def test_a_wrong_annotation_of_labelled_pods_is_a_warning_that_names_it(
    world: World, wrong: dict[str, str]
) -> None:
    await world.daemon("pods")
    member(world, 0, name="good")
    member(world, 0, name="bad", annotations=wrong)
    await asyncio.sleep(3)
    assert world.titles() == ["pods/good"]
    (event,) = [each for each in world.cluster.events() if each["reason"] == "NotWatchedOver"]
    about = event["involvedObject"]
    assert (event["type"], about["kind"], about["name"]) == ("Warning", "Pod", "bad-0")
    named = next(key for key, text in wrong.items() if STATED.get(key) != text)
    assert f"annotation {named}: " in event["message"]


@virtually
async def test_a_wrong_annotation_of_an_object_is_reported_once_and_again_when_it_is_another(world: World) -> None:
    await world.watches("jobs")
    with capture_logs() as logged:
        for probe in ("exec", "exec", "ping"):
            job(world, annotations={"muster.dev/probe": probe})
            job_pod(world, "train-0-a", 0)
            await asyncio.sleep(3)
    assert [each["log_level"] for each in logged if each.get("reason") == "NotWatchedOver"] == ["warning"] * 2
    found = [each for each in world.cluster.events() if each["reason"] == "NotWatchedOver"]
    assert [each["involvedObject"]["kind"] for each in found] == ["Job", "Job"]
    assert ["'exec'" in found[0]["message"], "'ping'" in found[1]["message"]] == [True, True]
    job(world, annotations=STATED)
    await asyncio.sleep(3)
    assert world.found("job/train").plan.coordinator is not None


@virtually
async def test_a_stated_probe_and_ready_pods_make_a_complete_roll(world: World) -> None:
    whole = world.cluster.arrived(0, size=1)
    world.cluster.roll = lambda now: replace(whole(now), partial="an http probe answers for the coordinator alone")
    await world.daemon("pods")
    for rank in range(2):
        world.pod(f"run-{rank}", labels=labelled(), annotations=STATED, ready=rank == 0, ip=f"10.0.0.{rank + 1}")
    await asyncio.sleep(5)
    run = world.found("pods/run")
    assert run.record.phase is Phase.ASSEMBLING
    assert run.record.message.startswith("1/2 members are ready")
    member(world, 1, annotations=STATED)
    await asyncio.sleep(5)
    assert world.found("pods/run").record.phase is Phase.RUNNING
