"""Programs that have ended behind a container that still runs, and the name of that container."""

import asyncio
from typing import Any

import msgspec
import pytest

from muster.state.vocabulary.record import ConditionType, Phase
from muster.watchers.pods.containers import outlived_by
from muster.watchers.pods.document import Status
from tests.daemon.watched.world import World, virtually

PODS = "/api/v1/namespaces/team/pods"
RUNS: dict[str, Any] = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}


def ended(code: int = 0) -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed"}}


def keeper(**states: dict[str, Any]) -> str:
    statuses = [{"name": name.replace("_", "-"), "state": state} for name, state in states.items()]
    return outlived_by(msgspec.convert({"phase": "Running", "containerStatuses": statuses}, Status))


def test_the_container_that_runs_on_behind_the_program_is_found() -> None:
    assert keeper(pytorch=ended(), istio_proxy=RUNS) == "istio-proxy"
    assert keeper(main=ended(), logger=RUNS) == "logger", "the program is known by its name"
    assert keeper(train=ended(), istio_proxy=RUNS) == "istio-proxy", "the other one is known by its name"
    assert keeper(train=ended(), istio_proxy=RUNS, vault_agent=RUNS) == "istio-proxy"
    assert keeper(train=ended(), metrics_collector=RUNS) == "metrics-collector", "a word of the name says what it is"
    assert keeper(train=ended(), my_otel_sidecar=RUNS) == "my-otel-sidecar"


def test_nothing_is_reported_where_it_is_not_known_which_container_is_the_program() -> None:
    assert keeper(setup=ended(), train=RUNS) == ""
    assert keeper(proxy_setup=ended(), metrics_collector=RUNS) == "", "neither is a program"
    assert keeper(setup=ended(), projector=RUNS) == "", "only whole words count"
    assert keeper(setup=ended(), pytorch=RUNS) == "", "the program runs"
    assert keeper(istio_proxy=ended(), pytorch=RUNS) == ""
    assert keeper(pytorch=ended(3), istio_proxy=RUNS) == "", "it has failed"
    assert keeper(pytorch=ended(), istio_proxy={"waiting": {"reason": "CrashLoopBackOff"}}) == ""
    assert keeper(pytorch=RUNS, istio_proxy=RUNS) == ""
    assert keeper(pytorch=ended()) == ""


def behind(world: World, name: str, code: int = 0, restart: str = "Never") -> None:
    """End the program of a pod, while its proxy runs."""
    found = world.api.objects[f"{PODS}/{name}"]
    states = [{"name": "istio-proxy", "ready": True, "state": RUNS}, {"name": "pytorch", "state": ended(code)}]
    conditions = [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "False"}]
    status = {**found["status"], "containerStatuses": states, "conditions": conditions}
    spec = {**found["spec"], "restartPolicy": restart}
    world.api.put(f"{PODS}/{name}", {**found, "spec": spec, "status": status})


def stuck(world: World, title: str) -> str:
    found = world.found(title).record.condition(ConditionType.STUCK)
    return f"{found.reason}: {found.message}" if found is not None and found.status else ""


@pytest.mark.parametrize("restart", ["Never", "OnFailure"])
@virtually
async def test_the_container_that_keeps_the_pods_of_ended_programs_is_named(world: World, restart: str) -> None:
    await world.daemon("pods")
    for rank in range(3):
        world.pod(f"run-{rank}", labels={"muster.dev/observe": "run"}, ip=f"10.0.0.{rank + 1}")
    await asyncio.sleep(2)
    for rank in range(2):
        behind(world, f"run-{rank}", restart=restart)
    await asyncio.sleep(60)
    assert stuck(world, "pods/run") == "", "one still runs"
    message = world.found("pods/run").record.message
    assert message.startswith("1/3 members are ready; ranks 0-1: ended with exit code 0, but container istio-proxy")
    behind(world, "run-2", restart=restart)
    await asyncio.sleep(45)
    said = "all 3 programs have ended with exit code 0, but container istio-proxy of rank 0 (run-0), and 2 more run on"
    assert stuck(world, "pods/run").startswith(
        f"ContainerRunsOn: {said} and keep their pods; make it an init container"
    )
    assert "running, but not ready" not in world.found("pods/run").record.message
    for rank in range(3):
        world.end(f"run-{rank}")
    await asyncio.sleep(3)
    assert world.found("pods/run").record.phase is Phase.SUCCEEDED


@virtually
async def test_the_last_container_that_runs_on_is_named_alone(world: World) -> None:
    await world.daemon("pods")
    for rank in range(2):
        world.pod(f"run-{rank}", labels={"muster.dev/observe": "run"}, ip=f"10.0.0.{rank + 1}")
    await asyncio.sleep(2)
    world.end("run-0")
    behind(world, "run-1")
    await asyncio.sleep(45)
    assert "container istio-proxy of rank 1 (run-1) runs on and keeps its pod" in stuck(world, "pods/run")
