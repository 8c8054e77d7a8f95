"""Real programs that wait for a rank and give up: the rank is the cause, and its charge is that of what kept it.

The time-outs are those of jax and PyTorch, long enough for a busy machine to see first what the gang waits for. The
table of such endings, decision for decision, is ``tests/state/policies/failures/test_known_causes.py``.
"""

import asyncio
import contextlib
import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from muster.api.causes import Cause
from muster.client import Snapshot
from muster.client.explaining.lines import lines
from muster.state.facts.sentences import sentence
from tests.e2e.environment import Environment, children_of, environment, experiment
from tests.frameworks.interpreters import python_of, reason_without

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]
LONG = 400.0
"""Seconds for what comes true on a machine that does much else, too."""

NEVER_CALLS = """
import os, threading
import jax
rank = int(os.environ["JAXOPERATOR_PROCESS_ID"])
if rank == 2:
    threading.Event().wait()
jax.distributed.initialize(num_processes=3, process_id=rank, initialization_timeout=40)
"""
FREEZES = """
import os, threading
import jax
rank = int(os.environ["JAXOPERATOR_PROCESS_ID"])
jax.distributed.initialize(num_processes=3, process_id=rank, heartbeat_timeout_seconds=40)
print("joined", flush=True)
threading.Event().wait()
"""
HANGS = """
import os, threading, time
import jax
from jax._src.distributed import global_state
from muster.jax import initialize, report
initialize()
for step in range(1_000_000):
    if step == 20 and jax.process_index() == 2:
        threading.Event().wait()
    report(step)
    global_state.client.wait_at_barrier(f"step-{step}", timeout_in_ms=90_000)
    time.sleep(1.0)
"""
STORE = """
import datetime, os, threading
import torch.distributed
if os.environ["RANK"] == "1":
    threading.Event().wait()
torch.distributed.init_process_group("gloo", timeout=datetime.timedelta(seconds=40))
"""


def written(folder: Path, program: str, *, operator: str = "jax", python: str = sys.executable) -> str:
    """The experiment whose three members run that program."""
    (folder / "train.py").write_text(program)
    command = f"JAX_PLATFORMS=cpu {python} -u {folder / 'train.py'}"
    policy = {"backoffLimit": 1, "backoff": {"initial": "10m", "max": "10m"}}
    return experiment("run", command, operator=operator, count=3, restartPolicy=policy)


def broken(seen: Snapshot) -> bool:
    return seen.status.cause is not None


async def cause_of(env: Environment) -> tuple[Cause, Snapshot, str]:
    """The first cause, the experiment as it was then, and the Event that says it."""
    seen = await env.until("run", broken, LONG)
    assert seen.status.cause is not None
    (line,) = [each.message for each in seen.status.story if each.reason == "GangRestart"]
    return seen.status.cause, seen, line


async def restarts(env: Environment) -> list[str]:
    """The series of restarts that are not 0."""
    found = [each for each in await env.metrics() if each.startswith("muster_gang_restarts_total{")]
    return [each for each in found if not each.endswith(" 0.0")]


async def test_a_rank_that_never_calls_is_the_cause_and_charged(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    async with environment(tmp_path / "home") as env:
        await env.start_daemon()
        await env.client.submit(written(tmp_path, NEVER_CALLS))
        cause, seen, line = await cause_of(env)
        explained = list(lines(await env.client.explain("run"), time.time()))
        while not any('reason="RanksMissing"' in each for each in await restarts(env)):  # noqa: ASYNC110 - the counter follows the status
            await asyncio.sleep(0.1)
    assert (cause.rank, cause.reason, cause.disruption, seen.status.restarts) == (2, "RanksMissing", False, 1), line
    assert "RanksMissing" in line
    said = sentence(cause)
    assert said in seen.message
    assert f"Epoch 0 ended because {said}" in explained
    assert "ended with exit code 134 (SIGABRT)" in cause.evidence
    assert "DEADLINE_EXCEEDED" in cause.evidence
    assert "absl" not in line


async def test_a_frozen_coordinator_is_the_cause_and_not_charged(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    frozen: list[int] = []
    async with environment(tmp_path / "home") as env:
        await env.start_daemon()
        await env.client.submit(written(tmp_path, FREEZES))
        await env.until("run", lambda seen: seen.phase == "Running", LONG)
        (process,) = [each.process for each in (await env.client.explain("run")).members if each.rank == 0]
        assert process is not None
        try:
            for pid in (process, *children_of(process)):
                os.kill(pid, signal.SIGSTOP)
                frozen.append(pid)
            cause, seen, line = await cause_of(env)
        finally:
            for pid in frozen:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
    assert (cause.rank, cause.reason, cause.disruption) == (0, "CoordinatorLost", True), line
    assert (seen.status.restarts, seen.status.disruptions) == (0, 1)
    assert "the coordinator's process is frozen" in line


async def test_a_rank_that_is_behind_in_a_hang_is_the_cause_and_charged(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    async with environment(tmp_path / "home") as env:
        await env.start_daemon()
        await env.client.submit(written(tmp_path, HANGS))
        await env.until("run", lambda seen: (stuck := seen.condition("Stuck")) is not None and bool(stuck.status), LONG)
        cause, seen, line = await cause_of(env)
    assert (cause.rank, cause.reason, cause.disruption, seen.status.restarts) == (2, "Hung", False, 1), line
    assert re.search(r"Hung: (stopped at step |in |no response)", line), "by its report, or where it stands"
    assert "Barrier timed out" in cause.evidence


@pytest.mark.skipif(python_of("torch") is None, reason=reason_without("torch"))
async def test_a_member_of_torch_that_never_calls_is_the_cause(tmp_path: Path) -> None:
    async with environment(tmp_path / "home") as env:
        await env.start_daemon()
        python = str(python_of("torch"))
        await env.client.submit(written(tmp_path, STORE, operator="pytorch", python=python))
        cause, _, line = await cause_of(env)
    assert (cause.reason, cause.disruption) == ("RanksMissing", False), line
    assert re.search("(?i)time(d )?out", cause.evidence), "PyTorch 1 says Socket Timeout, PyTorch 2 timed out"
