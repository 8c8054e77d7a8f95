"""Real PyTorch processes in labelled pods that no Experiment made: the rank that does not come is named."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.environment import environment
from tests.e2e.test_watched_pods import CORE, labelled_pods, stuck
from tests.frameworks.interpreters import python_of, reason_without

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("frameworks"),
    pytest.mark.skipif(python_of("torch") is None, reason=reason_without("torch")),
]

MISSING = 1
PROGRAM = f"""
import os, time
if os.environ["RANK"] == "{MISSING}":
    time.sleep(3600)
import torch.distributed as dist
dist.init_process_group("gloo", init_method="env://")
"""


def as_torch(pod: dict[str, Any], size: int, port: int) -> dict[str, Any]:
    """A pod of the demo, with a program of PyTorch in the place of JAX's."""
    (container,) = pod["spec"]["containers"]
    variables = {"MASTER_ADDR": "swarm-0.swarm", "MASTER_PORT": str(port), "WORLD_SIZE": str(size)}
    container["command"] = [str(python_of("torch")), "-c", PROGRAM]
    container["env"] += [{"name": name, "value": value} for name, value in variables.items()]
    pod["metadata"]["annotations"] = {**pod["metadata"]["annotations"], "muster.dev/operator": "pytorch"}
    return pod


async def test_the_rank_that_a_real_store_has_not_seen_is_named_also_by_a_daemon_that_starts_later(
    tmp_path: Path,
) -> None:
    made = labelled_pods()
    async with environment(tmp_path / "state") as cluster:
        await cluster.start_daemon("--watch-kinds", "pods")
        resources = cluster.client.resources
        await resources.create(f"{CORE}/services", made.service())
        for rank in range(made.SIZE):
            await resources.create(f"{CORE}/pods", as_torch(made.pod(rank), made.SIZE, made.PORT))
        said = await stuck(cluster)
        assert (said["operator"], said["stuck"]) == ("pytorch", "RanksMissing")
        assert (said["arrived"], said["size"]) == (2, 3)
        assert "missing rank 1 (swarm-1, running, but it has not called the coordinator)" in said["message"]
        await cluster.kill_daemon()
        await cluster.start_daemon("--watch-kinds", "pods")
        again = await stuck(cluster)
        assert (again["stuck"], again["missing"]) == ("RanksMissing", said["missing"])
