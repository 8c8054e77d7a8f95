"""Rank 1 of three real jax processes fails: ``muster run`` names rank 1 and its exception or its exit code."""

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from muster.cli.processes.stack import module
from tests.processes import forked
from tests.processes.local_up import local_up

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240), pytest.mark.xdist_group("a rank that raises")]

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
    multihost_utils.process_allgather(jnp.arange(3) + rank)
    if step == 20 and rank == 1:
        {fails}
    if step == 20 and {hangs}:
        time.sleep(600)  # in a part of its own; it does not see that the gang is broken
"""


RAISES = "raise ValueError('loss is NaN')"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """That of commands which find the one cluster of these tests."""
    pytest.importorskip("jax")
    home = tmp_path_factory.mktemp("cluster")
    made = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    made |= {"MUSTER_HOME": str(home / "home"), "JAX_PLATFORMS": "cpu"}
    with local_up(made, home):
        yield made


def run(
    environment: Mapping[str, str], folder: Path, join: str, *options: str, hangs: bool = False, fails: str = RAISES
) -> tuple[str, list[str]]:
    (folder / "train.py").write_text(PROGRAM.format(join=join, hangs=hangs, fails=fails))
    program = module("muster.cli", "run", *options, "-n", "3", "--", sys.executable, "-u", "train.py")
    done = forked.run(program, env=environment, cwd=folder)
    assert done.returncode == 1, done.stderr
    return done.stdout, done.stderr.splitlines()


@pytest.mark.parametrize("hangs", [False, True], ids=["the others gather", "the others are busy"])
@pytest.mark.parametrize(
    ("join", "options"),
    [(WITH_MUSTER, ["--no-assist"]), (PLAIN, []), (PLAIN, ["--no-assist"])],
    ids=["initialize", "assisted", "plain"],
)
def test_the_rank_that_raised_is_named_with_its_exception(
    environment: Mapping[str, str], tmp_path: Path, join: str, options: list[str], hangs: bool
) -> None:
    out, err = run(environment, tmp_path, join, *options, hangs=hangs)
    assert "rank 1 | ValueError: loss is NaN\n" in out
    assert "the traceback of rank 1 was:" in err
    assert "  ValueError: loss is NaN" in err
    cause = err[-1].partition("; not restarted (restart limit 0)")[0].partition(": ")[2]
    assert cause.startswith("rank 1 (")
    alone = join is PLAIN and options
    assert (
        "alone at JAX's shutdown barrier" if alone else "ended with exit code 1 on node local: ValueError: loss is NaN"
    ) in cause


@pytest.mark.parametrize(
    ("join", "options", "hangs"),
    [(WITH_MUSTER, ["--no-assist"], True), (PLAIN, [], False)],
    ids=["initialize, the others are busy", "assisted, the others gather"],
)
def test_the_rank_that_exited_with_a_code_is_named_with_it(
    environment: Mapping[str, str], tmp_path: Path, join: str, options: list[str], hangs: bool
) -> None:
    _, err = run(environment, tmp_path, join, *options, hangs=hangs, fails="raise SystemExit(3)")
    cause = err[-1].partition("; not restarted (restart limit 0)")[0].partition(": ")[2]
    assert cause.startswith("rank 1 (")
    assert "ended with exit code 3 on node local" in cause
