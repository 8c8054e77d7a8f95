"""The roll call of real jax jobs: four processes, gloo collectives, one scratch port.

It confirms the assumptions of the fake coordinator: the states of a waiting rank and of a killed one, and that ten
thousand snapshots have no effect on a job.
"""

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from muster.state.view.roll import CoordinatorState, RankState, RollAnswer
from muster.watchers.probes.jax.probe import JaxProbe
from tests.watchers.probes.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]
pytest.importorskip("jax")

PROGRAM = """
import sys
import jax
import jax.numpy as jnp
from jax.experimental import multihost_utils

address, rank, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(address, 4, rank, heartbeat_timeout_seconds=8, shutdown_timeout_seconds=20)
value = jnp.arange(64) + rank
for step in range(steps):
    value = (multihost_utils.process_allgather(value).sum(axis=0) * 31 + step + rank) % 1_000_003
print("rank", rank, "of", jax.process_count(), "result", int(value.sum()), flush=True)
sys.stdin.read()
"""


class Job:
    """The four processes of one jax job; the test starts each."""

    def __init__(self, port: int, steps: int, log: Path) -> None:
        self.address = f"127.0.0.1:{port}"
        self._steps = steps
        self._log = log
        self.processes: dict[int, asyncio.subprocess.Process] = {}

    async def start(self, *ranks: int) -> None:
        environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
        for rank in ranks:
            with (self._log / f"rank-{rank}.log").open("wb") as log:
                self.processes[rank] = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-c", PROGRAM, self.address, str(rank), str(self._steps)),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=log,
                    env=environment,
                )

    async def results(self) -> list[str]:
        """Return the line that each process prints when its steps are done."""
        return list(await asyncio.gather(*(result(process) for _, process in sorted(self.processes.items()))))

    async def end(self) -> list[int]:
        """Let all processes finish. Return their exit codes."""
        for process in self.processes.values():
            if process.stdin is not None:
                process.stdin.close()
        return await self.codes()

    async def codes(self) -> list[int]:
        return [await process.wait() for _, process in sorted(self.processes.items())]


async def result(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    async for line in process.stdout:  # the collectives print lines too
        if line.startswith(b"rank "):
            return line.decode().strip()
    return ""


@asynccontextmanager
async def a_job(log: Path, steps: int = 0) -> AsyncIterator[Job]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    job = Job(port, steps, log)
    try:
        yield job
    finally:
        for process in job.processes.values():
            if process.returncode is None:
                process.kill()
            await process.communicate()


async def test_the_roll_of_a_real_job_from_arrival_to_a_kill(tmp_path: Path) -> None:
    async with a_job(tmp_path) as job:
        probe = JaxProbe(job.address, clock=time.time, expected=4)
        assert (await probe.snapshot()).coordinator is CoordinatorState.REFUSED

        await job.start(0, 2)
        some = await until(probe, lambda answer: len(answer.arrived) >= 2)
        assert (some.arrived, some.missing, some.passed, some.expected) == (frozenset({0, 2}), (1, 3), False, 4)
        assert some.protocol in {"v2", "v1-watch"}

        await job.start(1, 3)
        full = await until(probe, lambda answer: answer.passed and "arrived" not in answer.states)
        assert set(full.states) == {"connected"}
        assert full.incarnation == some.incarnation
        assert len(await job.results()) == 4

        last: list[RollAnswer] = []

        async def follow() -> None:
            async for answer in probe.changes():
                last.append(answer)

        following = asyncio.create_task(follow())
        hasty = JaxProbe(job.address, clock=time.time, expected=4, deadline=0.3)
        await until(hasty, lambda answer: answer.passed)
        job.processes[0].send_signal(signal.SIGSTOP)
        await until(hasty, lambda answer: answer.coordinator is CoordinatorState.SILENT)
        job.processes[0].send_signal(signal.SIGCONT)
        await until(hasty, lambda answer: answer.passed)
        await hasty.close()
        assert not following.done()

        job.processes[2].kill()
        await asyncio.wait_for(following, 30)
        failed = [answer for answer in last if RankState.FAILED in answer.states]
        assert failed[0].states[2] is RankState.FAILED
        assert any(error.rank == 2 and "heartbeat timeout" in error.text for error in failed[0].errors)
        assert last[-1].coordinator is not CoordinatorState.SERVING
        assert (await job.codes())[2] == -9
        assert (await probe.snapshot()).coordinator is CoordinatorState.REFUSED
        await probe.close()


async def test_ten_thousand_snapshots_have_no_effect_on_the_job(tmp_path: Path) -> None:
    steps, looks = 250, 10_000
    async with a_job(tmp_path, steps) as job:
        await job.start(0, 1, 2, 3)
        undisturbed = await job.results(), await job.end()

    async with a_job(tmp_path, steps) as job:
        probe = JaxProbe(job.address, clock=time.time, expected=4)
        await job.start(0, 1, 2, 3)
        await until(probe, lambda answer: answer.coordinator.serving)
        results = asyncio.create_task(job.results())
        last: list[RollAnswer] = []

        async def follow() -> None:
            async for answer in probe.changes():
                last.append(answer)

        following = asyncio.create_task(follow())
        lanes = await asyncio.gather(*(look_often(job.address, looks // 4) for _ in range(4)))
        assert sum(lanes) == looks
        probed = await results, await job.end()
        await asyncio.wait_for(following, 30)
        await probe.close()

    assert probed == undisturbed
    assert probed[1] == [0, 0, 0, 0]
    assert all(line.startswith(f"rank {rank} of 4 result ") for rank, line in enumerate(probed[0]))
    # The last answer shows either an orderly leave, or the port that closed a moment later.
    assert last[-1].left or not last[-1].coordinator.serving


async def look_often(address: str, looks: int) -> int:
    """Return the number of snapshots that the coordinator answered."""
    probe = JaxProbe(address, clock=time.time, expected=4, deadline=10)
    answered = 0
    for _ in range(looks):
        answered += (await probe.snapshot()).coordinator.serving
    await probe.close()
    return answered
