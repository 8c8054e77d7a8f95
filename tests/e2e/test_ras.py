"""musterd asks the RAS of a gang's pods where their template opens it, and names the rank that holds the others up."""

import sys
from pathlib import Path

import pytest

from muster.client import Snapshot
from tests.e2e.environment import ROOT, environment, experiment

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

SAYS = "2 of 3 GPUs have entered AllReduce #121 (communicator 0xae94423cfbb2ef00); rank 1 has entered only 120"


def gang(folder: Path) -> str:
    env = [{"name": "NCCL_RAS_ADDR", "value": "$(MUSTER_POD_IP):28028"}]
    return experiment(
        "run",
        f"cd {ROOT} && JAX_PLATFORMS=cpu exec {sys.executable} -u -m tests.e2e.ras_gang {folder}",
        count=3,
        template={"spec": {"containers": [{"name": "main", "env": env}]}},
    )


def stuck(seen: Snapshot) -> str:
    (found,) = [each.message for each in seen.status.conditions if each.type == "Stuck"] or [""]
    return found


async def test_the_rank_that_holds_the_others_up_is_named_by_what_ras_answers(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    async with environment(tmp_path / "home") as env:
        await env.start_daemon()
        await env.client.submit(gang(tmp_path))
        seen = await env.until("run", lambda seen: "NCCL has counted no collective since" in stuck(seen), 300)
    assert stuck(seen).endswith(f"Z: {SAYS}")
    assert seen.status.stuck is not None
    assert (seen.status.stuck.cause, seen.status.stuck.ranks) == ("CollectiveBehind", "1")
