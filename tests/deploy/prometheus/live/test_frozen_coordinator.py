"""The coordinator of a real JAX gang is frozen, and a person is paged with what it is. A slow start pages nobody."""

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from muster.cli.processes.child import module
from tests.deploy.prometheus.binaries import Unavailable, program
from tests.deploy.prometheus.live.pipeline import Notification, Pipeline, pipeline
from tests.e2e.environment import Environment, environment

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(420)]

EXPERIMENT = """
apiVersion: muster.dev/v1alpha1
kind: Experiment
metadata: {{name: {name}}}
spec:
  operator: jax
  image: none
  command: "SLOW={slow} UNTIL={until} python3 -u tests/deploy/prometheus/live/gang.py"
  types:
    worker:
      count: {count}
      resources: {{cpus: 0.05, memory: 2}}
"""

PATIENCE = 120.0
"""Seconds. The shipped configuration promises 30; a busy machine is no failure of it, and the time is printed."""


@pytest.fixture(scope="module", autouse=True)
def the_programs_are_there() -> None:
    pytest.importorskip("jax")
    try:
        program("prometheus")
        program("alertmanager")
    except Unavailable as reason:
        pytest.skip(str(reason))


async def test_a_frozen_coordinator_pages_and_a_slow_start_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    until = tmp_path / "end"
    async with environment(tmp_path / "home") as here:
        await here.start_daemon()
        async with pipeline(tmp_path / "monitoring", f"127.0.0.1:{here.port}") as monitoring:
            await here.client.submit(EXPERIMENT.format(name="frozen", count=2, slow=0, until=until))
            await here.client.submit(EXPERIMENT.format(name="slow", count=3, slow=15, until=until))
            await here.until("frozen", lambda seen: seen.phase == "Running", PATIENCE)
            await here.until("slow", lambda seen: seen.phase == "Running", PATIENCE)
            assert monitoring.received == []
            assert await monitoring.firing() == []

            seconds = await freeze(here, monitoring)
            assert [one.labels.get("experiment") for one in monitoring.received] == ["frozen"]
            await signal(here, "CONT")
            await monitoring.until(lambda one: one.status == "resolved" and is_stuck(one), PATIENCE)
            until.touch()
            for name in ("frozen", "slow"):
                ended = await here.until(name, lambda seen: seen.finished, PATIENCE)
                assert ended.phase == "Succeeded", ended.message
            assert {one.name for one in monitoring.received} == {"MusterCoordinatorStuck"}

            await here.kill_daemon()
            killed = time.monotonic()
            down = await monitoring.until(lambda one: one.name == "MusterDaemonDown", PATIENCE + 60)
    with capsys.disabled():
        sys.stdout.write(
            f"\nMusterCoordinatorStuck: the coordinator of a real JAX gang is frozen (SIGSTOP): {seconds:.1f} s\n"
            f"MusterDaemonDown: musterd is killed (SIGKILL): {down.at - killed:.1f} s\n"
            "no alert: a gang of 3 whose ranks join after 15, 30 and 45 s\n"
        )


async def freeze(here: Environment, monitoring: Pipeline) -> float:
    """Stop the coordinator's processes. The seconds until the webhook arrived."""
    frozen = time.monotonic()
    await signal(here, "STOP")
    paged = await monitoring.until(is_stuck, PATIENCE)
    assert (paged.labels["namespace"], paged.labels["experiment"]) == ("default", "frozen")
    assert paged.labels["severity"] == "critical"
    assert paged.labels["reason"] in paged.annotations["summary"]
    assert paged.annotations["summary"].startswith("default/frozen: ")
    return paged.at - frozen


def is_stuck(one: Notification) -> bool:
    return one.name == "MusterCoordinatorStuck"


async def signal(here: Environment, number: str) -> None:
    """`muster local kill`, as a person would."""
    process = await asyncio.create_subprocess_exec(
        *module("muster.cli", "local", "kill", "frozen", "--rank", "0", "--signal", number),
        env={**os.environ, "MUSTER_HOME": str(here.home.path)},
    )
    assert await process.wait() == 0
