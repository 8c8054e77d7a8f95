"""A frozen and a dead coordinator of real JAX gangs each raise one page that names them. A slow start raises none."""

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from muster.cli.processes.stack import module
from tests.deploy.prometheus.binaries import needed
from tests.deploy.prometheus.live.pipeline import Notification, Pipeline, pipeline
from tests.e2e.environment import Environment, environment
from tests.processes.forked import run

pytestmark = [pytest.mark.slow, pytest.mark.cluster, pytest.mark.timeout(420)]

EXPERIMENT = """
apiVersion: muster.dev/v1alpha1
kind: Experiment
metadata: {{name: {name}}}
spec:
  operator: jax
  image: none
  command: "SLOW={slow} FOLDER={folder} python3 -u tests/deploy/prometheus/live/gang.py{then}"
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
    needed("prometheus")
    needed("alertmanager")


async def test_a_coordinator_that_is_frozen_or_dead_pages_and_a_slow_start_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with environment(tmp_path / "home") as here:
        await here.start_daemon()
        async with pipeline(tmp_path / "monitoring", f"127.0.0.1:{here.port}") as monitoring:
            await start(here, tmp_path, "frozen", count=2)
            await start(here, tmp_path, "dead", count=2, then=" || sleep 600")  # the pods outlive the program
            await start(here, tmp_path, "slow", count=3, slow=15)
            for name in ("frozen", "dead", "slow"):
                await here.until(name, lambda seen: seen.phase == "Running", PATIENCE)
            assert monitoring.received == []
            assert await monitoring.firing() == []

            frozen = time.monotonic()
            await signal(here, "STOP")
            (tmp_path / "dead" / "die").touch()
            seconds = {name: (await paged(monitoring, name)).at - frozen for name in ("frozen", "dead")}
            await signal(here, "CONT")
            await here.client.cancel("dead")
            await monitoring.until(lambda one: one.status == "resolved" and is_about(one, "frozen"), PATIENCE + 60)
            for name in ("frozen", "slow"):
                (tmp_path / name / "end").touch()
                ended = await here.until(name, lambda seen: seen.finished, PATIENCE)
                assert ended.phase == "Succeeded", ended.message
            assert {one.name for one in monitoring.received} == {"MusterCoordinatorStuck"}
            assert {one.labels["experiment"] for one in monitoring.received} == {"frozen", "dead"}

            killed = time.monotonic()
            await here.kill_daemon()
            down = await monitoring.until(lambda one: one.name == "MusterDaemonDown", PATIENCE + 60)
    with capsys.disabled():
        sys.stdout.write(
            f"\nMusterCoordinatorStuck: a coordinator of a real JAX gang is frozen (SIGSTOP): {seconds['frozen']:.1f} s"
            f"\nMusterCoordinatorStuck: one dies while its pod runs on (SIGKILL): {seconds['dead']:.1f} s"
            f"\nMusterDaemonDown: musterd is killed (SIGKILL): {down.at - killed:.1f} s"
            "\nno alert: a gang of 3 whose ranks join after 15, 30 and 45 s\n"
        )


async def start(here: Environment, folder: Path, name: str, *, count: int, slow: float = 0, then: str = "") -> None:
    """Submit an experiment with a folder of its own for the files it waits for."""
    (folder / name).mkdir()
    text = EXPERIMENT.format(name=name, count=count, slow=slow, folder=folder / name, then=then)
    await here.client.submit(text)


async def paged(monitoring: Pipeline, name: str) -> Notification:
    """The page about an experiment: who, why, and how urgent."""
    found = await monitoring.until(lambda one: is_about(one, name), PATIENCE)
    assert found.name == "MusterCoordinatorStuck"
    assert (found.labels["namespace"], found.labels["severity"]) == ("default", "critical")
    assert found.labels["reason"] == "CoordinatorUnreachable"
    assert found.annotations["summary"].startswith(f"default/{name}: ")
    assert found.labels["reason"] in found.annotations["summary"]
    return found


def is_about(one: Notification, name: str) -> bool:
    return one.labels.get("experiment") == name


async def signal(here: Environment, number: str) -> None:
    """`muster local kill`, as a person would."""
    program = module("muster.cli", "local", "kill", "frozen", "--rank", "0", "--signal", number)
    done = await asyncio.to_thread(run, program, env={**os.environ, "MUSTER_HOME": str(here.home.path)})
    assert done.returncode == 0, done.stderr
