"""Reports of real jax processes, read by the probe: three ranks, each jax that is installed here.

Beside the jax of the tests, other versions are taken from ``~/.cache/muster-jax/<version>/bin/python`` (or from the
folder that MUSTER_JAX names), where they are: ``python -m venv`` and ``pip install jax==<version>`` make one.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from muster.cli.processes.stack import free_port
from muster.state.view.progress import BEHIND_SECONDS, HANG_SECONDS, Progress, StepReport, sentence, steps_progress
from muster.watchers.probes.jax.probe import JaxProbe

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(150)]
pytest.importorskip("jax")

SIZE = 3
OTHERS = Path(os.environ.get("MUSTER_JAX") or Path.home() / ".cache" / "muster-jax")
PYTHONS = [sys.executable, *map(str, sorted(OTHERS.glob("*/bin/python")))]
PROGRAM = """
import sys, time
import jax
import jax.numpy as jnp
from muster.jax import report

address, rank, together, pause = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "together", float(sys.argv[4])
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(address, 3, rank)
from jax.experimental import multihost_utils

worst = 0.0
for step in range(1_000_000):
    loss = multihost_utils.process_allgather(jnp.ones(4) * rank).sum() if together else 1.0
    began = time.monotonic()
    report(step, loss=loss)
    worst = max(worst, time.monotonic() - began)
    print("worst", worst, flush=True)
    time.sleep(pause)
"""


@contextmanager
def gang(
    folder: Path, python: str, *, together: bool, pauses: tuple[float, ...] = (0.05,) * SIZE
) -> Iterator[tuple[str, list["subprocess.Popen[bytes]"]]]:
    """Address and processes of a gang that reports; the output of each is in ``<rank>.log``."""
    address = f"127.0.0.1:{free_port()}"
    processes = []
    path = str(Path(__file__).parents[2])
    environment = os.environ | {
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
        "PYTHONPATH": path,
    }
    try:
        for rank in range(SIZE):
            how = "together" if together else "apart"
            with (folder / f"{rank}.log").open("wb") as log:
                arguments = [python, "-u", "-c", PROGRAM, address, str(rank), how, str(pauses[rank])]
                processes.append(subprocess.Popen(arguments, env=environment, stdout=log, stderr=log))
        yield address, processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


async def follow(probe: JaxProbe, until: Callable[[Progress], bool], before: Progress | None = None) -> Progress:
    """Look once a second until that holds."""
    seen = before
    while seen is None or not until(seen):
        answer = await probe.snapshot()
        if answer.reports is not None:
            seen = steps_progress(answer.reports, 0, answer.at, seen)
        await asyncio.sleep(1.0)
    return seen


def worst(folder: Path, rank: int) -> float:
    """The longest call of ``report`` in that rank, in seconds."""
    said = [line for line in (folder / f"{rank}.log").read_text().splitlines() if line.startswith("worst ")]
    return float(said[-1].split()[1])


@pytest.mark.parametrize("python", PYTHONS, ids=lambda each: Path(each).parts[-3])
async def test_steps_of_a_real_gang_are_read_and_a_stopped_rank_is_a_hang(tmp_path: Path, python: str) -> None:
    with gang(tmp_path, python, together=True) as (address, processes):
        probe = JaxProbe(address, clock=time.time, expected=SIZE)
        seen = await follow(probe, lambda seen: seen.reporting == SIZE and seen.rate is not None and seen.step > 20)
        assert seen.rate is not None
        assert 1 < (rate := seen.rate) < 20
        assert dict(seen.scalars) == {"loss": 12.0}
        assert not seen.hung

        processes[1].send_signal(signal.SIGSTOP)
        seen = await follow(probe, lambda seen: seen.read_at > seen.moved_at + 4, seen)
        assert all(process.poll() is None for process in processes)
        still = [rank.report for rank in seen.ranks.values()]
        apart = max(report.step for report in still) - min(report.step for report in still)
        assert apart <= 12 * rate, "a value is ten seconds old at most, and its write and a step may be late"
        behind = _later(still, seen.moved_at + BEHIND_SECONDS - 1, seen).slowest is not None
        hung_at = seen.moved_at + max(BEHIND_SECONDS if behind else HANG_SECONDS, 5 * seen.longest)
        assert not _later(still, hung_at - 1, seen).hung
        assert _later(still, hung_at, seen).hung
        assert sentence(_later(still, hung_at, seen), hung_at).startswith("no step since ")

        processes[1].send_signal(signal.SIGCONT)
        step = seen.step
        assert not (await follow(probe, lambda seen: seen.step > step, _later(still, hung_at, seen))).hung
        await probe.close()


def _later(reports: list[StepReport], now: float, seen: Progress) -> Progress:
    """The progress if the same were read later."""
    after = steps_progress(reports, 0, now, seen)
    assert after is not None
    return after


@pytest.mark.timeout(180)  # it is known after 20 s of work, and three looks
async def test_a_slowed_rank_is_named_as_straggler(tmp_path: Path) -> None:
    with gang(tmp_path, sys.executable, together=False, pauses=(0.05, 0.05, 2.0)) as (address, _):
        probe = JaxProbe(address, clock=time.time, expected=SIZE)
        seen = await follow(probe, lambda seen: seen.straggling > 0)
        assert seen.stragglers == (2,)
        assert seen.slowest == 2
        await probe.close()


async def test_report_returns_at_once_while_process_0_is_stopped(tmp_path: Path) -> None:
    """A write that waits for process 0 must neither hold the caller nor the interpreter's lock."""
    with gang(tmp_path, sys.executable, together=False) as (address, processes):
        probe = JaxProbe(address, clock=time.time, expected=SIZE)
        await follow(probe, lambda seen: seen.reporting == SIZE and seen.step > 20)
        processes[0].send_signal(signal.SIGSTOP)
        before = (tmp_path / "1.log").stat().st_size
        await asyncio.sleep(4)
        processes[0].send_signal(signal.SIGCONT)
        assert (tmp_path / "1.log").stat().st_size > before + 1000, "rank 1 did not go on"
        assert worst(tmp_path, 1) < 1.0
        await follow(probe, lambda seen: seen.reporting == SIZE and seen.ranks[1].report.step > 60)
        await probe.close()
