"""Four real jax processes of which rank 1 raises: ``muster run`` names rank 1 and its exception."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

WITH_MUSTER = "from muster.jax import initialize\ninitialize()\n"
PLAIN = """
jax.distributed.initialize(
    num_processes=int(os.environ["JAXOPERATOR_NUM_PROCESSES"]),
    process_id=int(os.environ["JAXOPERATOR_PROCESS_ID"]),
    shutdown_timeout_seconds=5,  # jax's default of 300 differs only in how long all of this takes
)
"""
PROGRAM = """
import os, time
import jax
import jax.numpy as jnp
{join}
from jax.experimental import multihost_utils

rank = jax.process_index()
for step in range(1_000_000):
    multihost_utils.process_allgather(jnp.arange(4) + rank)
    if step == 20 and rank == 1:
        raise ValueError("loss is NaN")
    if step == 20 and {hangs}:
        time.sleep(600)  # in a part of its own; it does not see that the gang is broken
"""


def run(folder: Path, join: str, hangs: bool) -> tuple[str, list[str]]:
    (folder / "train.py").write_text(PROGRAM.format(join=join, hangs=hangs))
    environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    environment |= {"MUSTER_HOME": str(folder / "home"), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "muster.cli", "run", "-n", "4", "--", sys.executable, "-u", "train.py"],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    return done.stdout, done.stderr.splitlines()


@pytest.mark.parametrize("hangs", [False, True], ids=["the others gather", "the others are busy"])
@pytest.mark.parametrize("join", [WITH_MUSTER, PLAIN], ids=["initialize", "plain"])
def test_the_rank_that_raised_is_named_with_its_exception(tmp_path: Path, join: str, hangs: bool) -> None:
    pytest.importorskip("jax")
    out, err = run(tmp_path, join, hangs)
    assert "rank 1 | ValueError: loss is NaN\n" in out
    assert "the traceback of rank 1 was:" in err
    assert "  ValueError: loss is NaN" in err
    cause = err[-1].partition("no restarts allowed; ")[2]
    assert cause.startswith("rank 1 (")
    assert "ValueError: loss is NaN" in cause or "alone at JAX's shutdown barrier" in cause
    assert "ValueError: loss is NaN" in cause or join is PLAIN
