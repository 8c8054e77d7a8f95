"""A gang of real jax processes fails in the same way again: what is said of it, and what becomes of its next restart.

An epoch fails at a step of its own, once the daemon has read that step: a look may be late, and a step that none has
read is no advance. The next epoch goes on from there. One that does not fail ends when the test says so.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from muster.client import Snapshot
from muster.client.explaining.lines import lines
from tests.e2e.environment import Environment, environment, experiment

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]
LONG = 400.0
"""Seconds for what comes true on a machine that does much else, too."""
AGAIN = "SameFailureAgain"
BUDGET = 5
"""Restarts that the spec allows."""
FIRST, FURTHER = 10, 120
"""A step, and one that is an advance beyond it: more steps than are made in 20 s."""
PROGRAM = """\
import os, sys, time
from pathlib import Path
import jax, jax.numpy as jnp
from jax.experimental import multihost_utils
from muster.jax import initialize, report

folder, fails = Path(sys.argv[1]), [int(each) for each in sys.argv[2:]]
epoch, rank = int(os.environ["MUSTER_EPOCH"]), int(os.environ["MUSTER_RANK"])
fails_at = fails[epoch] if epoch < len(fails) else -1

def sample(step):
    time.sleep(0.2)
    if step == fails_at:
        while not (folder / f"read.{epoch}").exists():
            time.sleep(0.1)
        if rank == 1:
            raise ValueError(f"sample {step} is NaN")
    return jnp.ones(1) * (folder / "enough").exists()

jax.config.update("jax_cpu_collectives_implementation", "gloo")
initialize()
step = fails[epoch - 1] if epoch else 0
while True:
    report(step)
    if multihost_utils.process_allgather(sample(step)).any():
        break
    step += 1
"""
RAISED_AT = f"train.py:{PROGRAM[: PROGRAM.index('raise ')].count(chr(10)) + 1} in sample"


@asynccontextmanager
async def trained(folder: Path, fails: Sequence[int], **policy: str) -> AsyncIterator[Environment]:
    """A gang whose first epochs fail at these steps; each of them has been read when the block begins."""
    pytest.importorskip("jax")
    (folder / "train.py").write_text(PROGRAM)
    command = f"JAX_PLATFORMS=cpu {sys.executable} -u {folder}/train.py {folder} {' '.join(map(str, fails))}"
    restarts = {"backoffLimit": BUDGET, "backoff": {"initial": "0s"}, **policy}
    async with environment(folder / "home") as env:
        await env.start_daemon()
        await env.serves()
        await env.client.submit(experiment("run", command, restartPolicy=restarts))
        for epoch, step in enumerate(fails):
            seen = await env.until("run", partial(begun, epoch), LONG)
            assert running(epoch, seen), seen.message
            await metric(env, "muster_experiment_step{", step)
            (folder / f"read.{epoch}").touch()
        yield env


def running(epoch: int, seen: Snapshot) -> bool:
    """The gang of that epoch is at work."""
    return seen.phase == "Running" and seen.status.epoch == epoch


def begun(epoch: int, seen: Snapshot) -> bool:
    """The gang of that epoch is at work, or no epoch begins any more."""
    return running(epoch, seen) or seen.finished


def again(seen: Snapshot) -> bool:
    """It is said to have failed in the same way again."""
    stuck = seen.condition("Stuck")
    return stuck is not None and bool(stuck.status) and stuck.reason == AGAIN


async def metric(env: Environment, series: str, value: float) -> None:
    """Wait until a series has that value."""
    async with asyncio.timeout(LONG):
        while not any(  # noqa: ASYNC110 - a scrape is a question
            line.startswith(series) and float(line.split()[-1]) == value for line in await env.metrics()
        ):
            await asyncio.sleep(0.1)


def verdicts(enforced: str) -> str:
    return f'muster_restart_verdicts_total{{enforced="{enforced}",verdict="{AGAIN}"}}'


async def test_a_gang_goes_on_while_it_advances_and_ends_with_the_cause_where_the_spec_says_so(tmp_path: Path) -> None:
    fails = [FIRST, FURTHER, FURTHER]
    async with trained(tmp_path, fails, sameFailureAction="Fail") as env:
        seen = await env.until("run", lambda seen: seen.finished, LONG)
        await metric(env, verdicts("true"), 1)
        await metric(env, verdicts("false"), 0)
    status, cause = seen.status, seen.status.cause
    assert (seen.phase, seen.reason, status.epoch, status.restarts) == ("Failed", AGAIN, 2, 2), seen.message
    assert status.best_step == FURTHER
    assert cause is not None
    assert (cause.rank, cause.message) == (1, f"ValueError: sample {FURTHER} is NaN")
    assert seen.message.startswith("the last 2 failures are the same, with")
    assert f"(best step {FURTHER}): exit code 1: ValueError: sample # is NaN" in seen.message
    assert f"raised at {RAISED_AT}" in seen.message


async def test_by_default_the_same_failure_is_reported_and_the_gang_goes_on(tmp_path: Path) -> None:
    async with trained(tmp_path, [FIRST, FIRST]) as env:
        seen = await env.until("run", lambda seen: running(2, seen) and again(seen), LONG)
        assert seen.status.restarts == 2
        assert "the last 2 failures are the same" in seen.message
        explained = await env.client.explain("run")
        assert any(AGAIN in line for line in lines(explained, 0.0))
        await metric(env, verdicts("false"), 1)
        await metric(env, verdicts("true"), 0)
        (tmp_path / "enough").touch()
        seen = await env.until("run", lambda seen: seen.finished, LONG)
    assert (seen.phase, seen.status.epoch, seen.status.restarts) == ("Succeeded", 2, 2), seen.message
