"""Real JAX processes in labelled pods that no Experiment made: the one that does not come is named."""

import asyncio
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import aiohttp
import pytest

from tests.e2e.environment import Environment, environment

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

PROGRAM = Path(__file__).parents[2] / "examples/watched/labelled_pods.py"
CORE = "/api/v1/namespaces/default"


def labelled_pods() -> ModuleType:
    """The pods of ``make demo``."""
    spec = importlib.util.spec_from_file_location("labelled_pods", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def stuck(cluster: Environment) -> dict[str, Any]:
    """What the daemon says of the pods, once they are stuck."""
    url = f"http://127.0.0.1:{cluster.port}/experiments/default/pods/swarm.json"
    async with asyncio.timeout(120), aiohttp.ClientSession() as session:
        while True:
            try:
                async with session.get(url) as answer:
                    found: dict[str, Any] = await answer.json() if answer.status == 200 else {}
            except aiohttp.ClientConnectionError:
                found = {}
            if found.get("stuck"):
                return found
            await asyncio.sleep(0.5)


async def test_the_rank_that_does_not_come_is_named_and_nothing_is_written_to_its_pod(tmp_path: Path) -> None:
    """Also by a daemon that starts later; only the two that came count as arrived."""
    pytest.importorskip("jax")
    made = labelled_pods()
    async with environment(tmp_path / "state") as cluster:
        await cluster.start_daemon("--watch-kinds", "pods")
        resources = cluster.client.resources
        await resources.create(f"{CORE}/services", made.service())
        for rank in range(made.SIZE):
            await resources.create(f"{CORE}/pods", made.pod(rank))
        said = await stuck(cluster)
        assert said["stuck"] == "RanksMissing"
        assert (said["arrived"], said["size"]) == (2, 3)
        assert "missing rank 2 (swarm-2, running, but it has not called the coordinator)" in said["message"]
        await cluster.kill_daemon()
        await cluster.start_daemon("--watch-kinds", "pods")
        again = await stuck(cluster)
        assert (again["stuck"], again["arrived"]) == ("RanksMissing", 2)
        for rank in range(made.SIZE):
            pod = await resources.get(f"{CORE}/pods/swarm-{rank}")
            metadata = pod["metadata"]
            assert isinstance(metadata, dict)
            assert (metadata["labels"], metadata["annotations"]) == (made.LABELS, made.ANNOTATIONS)
            assert not metadata.get("finalizers")
        events = await resources.list(f"{CORE}/events")
        assert sum(each.get("reason") == "Stuck" for each in events) == 1
