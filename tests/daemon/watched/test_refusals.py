"""An object whose annotations cannot be read reports that itself, and no other run is disturbed."""

import asyncio
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from muster.state.vocabulary.record import Phase
from tests.daemon.watched.test_jobs import job
from tests.daemon.watched.test_jobs import pod as job_pod
from tests.daemon.watched.test_labelled_pods import labelled, member
from tests.daemon.watched.world import World, virtually

STATED = {"muster.dev/coordinator-port": "8080", "muster.dev/probe": "http"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"muster.dev/probe": "exec"},
        {"muster.dev/operator": "mpi\n\x1b[2J" * 400},
        {**STATED, "muster.dev/coordinator-port": "8080@10.0.0.9"},
        {**STATED, "muster.dev/probe-path": "http://169.254.169.254/"},
        {"muster.dev/size": "1000000"},
        {"muster.dev/total-deadline": "soon"},
    ],
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
    assert (event["type"], event["involvedObject"]["kind"], event["involvedObject"]["name"]) == (
        "Warning",
        "Pod",
        "bad-0",
    )
    named = next(key for key, text in wrong.items() if STATED.get(key) != text)
    assert f"annotation {named}: " in event["message"]


@virtually
async def test_a_wrong_annotation_of_an_object_is_said_once_and_again_when_it_is_another(world: World) -> None:
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
    world.cluster.roll = lambda now: replace(whole(now), partial="an http probe says so of the coordinator alone")
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
