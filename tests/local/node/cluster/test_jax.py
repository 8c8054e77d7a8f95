"""Two JAX processes connect by the names that Kubernetes would give them."""

import asyncio

import pytest

from muster.local.node import Isolation, choose_isolation
from tests.local.node.harness import ClusterOf, MakePod, refused

TRAIN = """
import os, sys
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
rank = int(sys.argv[1])
jax.distributed.initialize("coordinator-0.exp:1234", num_processes=2, process_id=rank)
from jax.experimental import multihost_utils
import jax.numpy as jnp
print("ranks", multihost_utils.process_allgather(jnp.array([rank])).ravel().tolist())
"""


@pytest.mark.cluster
@pytest.mark.timeout(120)
async def test_two_jax_processes_initialize_and_gather(
    cluster_of: ClusterOf, make_pod: MakePod, make_container: MakePod, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("jax")
    isolation = (await asyncio.to_thread(choose_isolation, refused)).isolation
    async with cluster_of(isolation) as cluster:
        for rank, name in enumerate(("coordinator-0", "worker-0")):
            # If pods share a network, the daemon sets the address that the coordinator binds; here the test does.
            env = [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]
            if rank == 0 and isolation is not Isolation.NETNS:
                env.append({"name": "JAX_COORDINATOR_BIND_ADDRESS", "value": "$(POD_IP):1234"})
            container = make_container(TRAIN, args=[str(rank)], env=env)
            await cluster.create(make_pod(name, container, hostname=name, subdomain="exp"))
        for name in ("coordinator-0", "worker-0"):
            await cluster.until(name, lambda each: each["status"].get("phase") in {"Succeeded", "Failed"})
            assert "ranks [0, 1]" in await cluster.log(name)
