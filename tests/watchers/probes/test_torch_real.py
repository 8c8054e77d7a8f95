"""The probe of PyTorch's TCPStore against real jobs of three processes (gloo).

It confirms the assumptions of the fake store: the keys, the dialect, and that thousands of snapshots have no effect on
a job.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from muster.cli.processes.stack import free_port
from muster.state.view.roll import CoordinatorState
from muster.watchers.probes.torch.probe import TorchProbe
from tests.frameworks.interpreters import python_of, reason_without
from tests.watchers.probes.waiting import until

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(180),
    pytest.mark.skipif(python_of("torch") is None, reason=reason_without("torch")),
]

PROGRAM = """
import sys
import torch
import torch.distributed as dist

dist.init_process_group("gloo", init_method="env://")
value = torch.ones(4) * (dist.get_rank() + 1)
for step in range(20):
    dist.all_reduce(value)
    value = value % 1_000_003
print("rank", dist.get_rank(), "of", dist.get_world_size(), "result", value.tolist(), flush=True)
sys.stdin.read()
dist.destroy_process_group()
"""
SIZE = 3


class Job:
    """The processes of one job; the test starts each."""

    def __init__(self, log: Path) -> None:
        self.port = free_port()
        self.processes: dict[int, asyncio.subprocess.Process] = {}
        self._log = log

    async def start(self, *ranks: int) -> None:
        for rank in ranks:
            environment = os.environ | {
                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(self.port),
                "WORLD_SIZE": str(SIZE), "RANK": str(rank), "OMP_NUM_THREADS": "1",
            }  # fmt: skip
            environment.pop("PYTHONPATH", None)
            with (self._log / f"rank-{rank}.log").open("wb") as log:
                self.processes[rank] = await asyncio.create_subprocess_exec(
                    *(str(python_of("torch")), "-c", PROGRAM),
                    stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=log, env=environment,
                )  # fmt: skip

    async def results(self) -> list[str]:
        async def line(process: asyncio.subprocess.Process) -> str:
            assert process.stdout is not None
            return (await process.stdout.readline()).decode()

        return list(await asyncio.gather(*(line(each) for _, each in sorted(self.processes.items()))))

    async def end(self) -> list[int]:
        for process in self.processes.values():
            assert process.stdin is not None
            process.stdin.close()
        return [await process.wait() for process in self.processes.values()]


@asynccontextmanager
async def job_in(folder: Path) -> AsyncIterator[Job]:
    job = Job(folder)
    try:
        yield job
    finally:
        for process in job.processes.values():
            if process.returncode is None:
                process.kill()
                await process.wait()


async def test_the_missing_rank_of_a_real_job_is_named_and_two_thousand_looks_do_it_no_harm(tmp_path: Path) -> None:
    async with job_in(tmp_path) as job:
        await job.start(0, 1)
        probe = TorchProbe(f"127.0.0.1:{job.port}", clock=lambda: 0.0, expected=SIZE)
        two = await until(probe, lambda answer: len(answer.arrived) == 2)
        assert (two.missing, two.passed, two.partial) == ((2,), False, "")
        for _ in range(2000):
            assert (await probe.snapshot()).missing == (2,)
        await job.start(2)
        assert (await until(probe, lambda answer: answer.passed)).missing == ()
        results = await job.results()
        assert [line.split(" result ")[0] for line in results] == [f"rank {rank} of 3" for rank in range(SIZE)]
        assert len({line.split(" result ")[1] for line in results}) == 1
        for _ in range(200):
            assert (await probe.snapshot()).passed
        assert await job.end() == [0, 0, 0]
        assert (await probe.snapshot()).coordinator is CoordinatorState.REFUSED
        await probe.close()
        assert "store" not in (tmp_path / "rank-0.log").read_text(encoding="utf-8").lower()


async def test_a_stopped_rank_zero_is_silent_and_goes_on_afterwards(tmp_path: Path) -> None:
    async with job_in(tmp_path) as job:
        await job.start(0, 1, 2)
        probe = TorchProbe(f"127.0.0.1:{job.port}", clock=lambda: 0.0, expected=SIZE, deadline=1.0)
        await until(probe, lambda answer: answer.passed)
        await job.results()
        job.processes[0].send_signal(signal.SIGSTOP)
        await until(probe, lambda answer: answer.coordinator is CoordinatorState.SILENT)
        job.processes[0].send_signal(signal.SIGCONT)
        assert (await until(probe, lambda answer: answer.passed)).coordinator.serving
        await probe.close()
        assert await job.end() == [0, 0, 0]
