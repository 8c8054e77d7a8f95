"""examples/jaxjob from its file to Succeeded, with real JAX processes on the local cluster."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.kube.unstructured import Json
from muster.state.vocabulary.subject import JAXJOB
from tests.e2e.environment import Environment, environment
from tests.examples.table import process_of

FILE = Path(__file__).parents[2] / "examples" / "jaxjob" / "jaxjob.yaml"
NAME = "jaxjob/jaxjob-simple"
JOBS = f"/apis/{JAXJOB.api_version}/namespaces/default/{JAXJOB.plural}"

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]


@asynccontextmanager
async def ground(folder: Path) -> AsyncIterator[Environment]:
    """A local cluster and a daemon that runs JAXJobs."""
    pytest.importorskip("jax")
    async with environment(folder, "--memory-only") as env:
        await env.start_daemon("--run-kinds", "jobsets,jaxjobs")
        yield env


def manifest(*, run_policy: Json | None = None, **variables: str) -> dict[str, Any]:
    """The file; its container gets this Python, and these variables."""
    job: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    container = job["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    assert container["command"][0] == "python"
    container["command"][0] = sys.executable
    container["env"] = [{"name": name, "value": value} for name, value in {"JAX_PLATFORMS": "cpu", **variables}.items()]
    if run_policy is not None:
        job["spec"]["runPolicy"] = run_policy
    return job


def conditions(job: Json) -> list[str]:
    """The types of the conditions that are true, the record left out."""
    found = job.get("status", {}).get("conditions", ())
    return [each["type"] for each in found if each["status"] == "True" and "/" not in each["type"]]


async def until(env: Environment, *wanted: str) -> dict[str, Any]:
    """The job as soon as its latest true condition is one of these."""
    async with asyncio.timeout(120), aclosing(env.client.watch(NAME)) as stream:
        async for change in stream:
            if (conditions(change.experiment.raw) or [""])[-1] in wanted:
                return change.experiment.raw
    raise AssertionError("the watch ended")


async def logs(env: Environment) -> dict[int, list[str]]:
    """What each rank of the last epoch printed."""
    found: dict[int, list[str]] = {}
    async with aclosing(env.client.logs(NAME)) as lines:
        async for line in lines:
            found.setdefault(line.rank, []).append(line.text)
    return found


async def test_the_jaxjob_runs_from_its_file_to_succeeded(tmp_path: Path) -> None:
    async with ground(tmp_path) as env:
        await env.client.resources.create(JOBS, manifest())
        job = await until(env, "Succeeded", "Failed")
        assert conditions(job) == ["Created", "Succeeded"]
        assert job["status"]["replicaStatuses"]["Worker"]["succeeded"] == 2
        printed = await logs(env)
        assert "round 4: the sum over 2 processes is 9" in printed[0]
        assert printed[1][-1] == "done"


async def test_a_killed_rank_restarts_the_gang_and_it_succeeds(tmp_path: Path) -> None:
    async with ground(tmp_path) as env:
        job = manifest(run_policy={"backoffLimit": 1}, ROUNDS="12", PAUSE="0.5", RUN=str(tmp_path))
        await env.client.resources.create(JOBS, job)
        await until(env, "Running")
        await env.until(NAME, lambda seen: seen.phase == "Running")
        os.kill(process_of("examples/jaxjob/train.py", "PROCESS_ID=1", f"RUN={tmp_path}"), signal.SIGKILL)
        await until(env, "Restarting")
        job = await until(env, "Succeeded", "Failed")
        assert conditions(job)[-1] == "Succeeded"
        seen = await env.client.get(NAME)
        assert (seen.status.epoch, seen.status.restarts) == (1, 1)
        assert seen.status.cause is not None
        assert (seen.status.cause.rank, seen.status.cause.signal or seen.status.cause.exit_code) in ((1, 9), (1, 137))
