"""examples/jobset-object from its file to Completed, with real processes on the local cluster."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.kube.unstructured import Json
from muster.state.vocabulary.subject import JOBSET
from tests.e2e.environment import Environment, environment

FILE = Path(__file__).parents[2] / "examples" / "jobset-object" / "jobset.yaml"
NAME = "jobset/ring"
JOBSETS = f"/apis/{JOBSET.api_version}/namespaces/default/{JOBSET.plural}"

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]


@asynccontextmanager
async def ground(folder: Path) -> AsyncIterator[Environment]:
    """A local cluster and a daemon, which runs JobSets by default."""
    async with environment(folder, "--memory-only") as env:
        await env.start_daemon()
        yield env


def manifest(**policy: Any) -> dict[str, Any]:
    """The file; its containers get this Python."""
    jobset: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    for job in jobset["spec"]["replicatedJobs"]:
        (container,) = job["template"]["spec"]["template"]["spec"]["containers"]
        assert container["command"][0] == "python3"
        container["command"][0] = sys.executable
    jobset["spec"]["failurePolicy"].update(policy)
    return jobset


def conditions(jobset: Json) -> list[str]:
    """Every condition but the record, with status and reason."""
    found = jobset.get("status", {}).get("conditions", ())
    return [f"{each['type']} {each['status']}/{each['reason']}" for each in found if "/" not in each["type"]]


async def ended(env: Environment) -> tuple[dict[str, Any], list[str]]:
    """The JobSet at its end, and every turn of a condition on the way."""
    turns: list[str] = []
    async with asyncio.timeout(120), aclosing(env.client.watch(NAME)) as stream:
        async for change in stream:
            jobset = change.experiment.raw
            turns += [turn for turn in conditions(jobset) if turn not in turns]
            if jobset.get("status", {}).get("terminalState"):
                return jobset, turns
    raise AssertionError("the watch ended")


async def test_the_jobset_fails_once_and_completes_after_its_restart(tmp_path: Path) -> None:
    async with ground(tmp_path) as env:
        await env.client.resources.create(JOBSETS, manifest())
        jobset, turns = await ended(env)
        status = jobset["status"]
        assert (status["terminalState"], status["restarts"], status["restartsCountTowardsMax"]) == ("Completed", 1, 1)
        assert turns[0] == "RestartingJobSet True/FailurePolicy_worker_broke"
        assert turns[-1] == "Completed True/AllJobsCompleted"
        assert {row["name"]: row["succeeded"] for row in status["replicatedJobsStatus"]} == {"leader": 1, "worker": 1}


async def test_the_jobset_fails_when_no_restart_is_left(tmp_path: Path) -> None:
    async with ground(tmp_path) as env:
        await env.client.resources.create(JOBSETS, manifest(maxRestarts=0))
        jobset, turns = await ended(env)
        assert turns == ["Failed True/ReachedMaxRestarts"]
        (failed,) = [each for each in jobset["status"]["conditions"] if each["type"] == "Failed"]
        assert failed["message"].endswith("(first failed job: ring-worker-0)")
