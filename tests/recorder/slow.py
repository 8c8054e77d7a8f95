"""A gang of real PyTorch processes on this machine that all get on, one of them slower than the others in each step."""

import asyncio
import time
from pathlib import Path

from muster.state.view.recorder.arrivals import Arrivals, sentence
from muster.state.view.view import View
from muster.watchers.probes.torch.probe import TorchProbe
from tests.hangs.played import LOOK, SIZE
from tests.recorder.gang import PROGRAMS, gang

PROGRAMS["slow"] = """\
import os, sys, time
import torch, torch.distributed as dist
rank, seconds, victim = int(os.environ["RANK"]), float(sys.argv[1]), int(sys.argv[2])
torch.set_num_threads(1)
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
while True:
    time.sleep(0.1 + (seconds if rank == victim else 0.0))
    model(torch.ones(8, 64)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


async def seen_of(folder: Path, seconds: float, victim: int, *, patience: float) -> tuple[Arrivals | None, str]:
    """What is said of such a gang: as soon as a rank comes last, or when it was looked at for so many seconds."""
    seen, until = View(), time.monotonic() + patience
    with gang(folder, "slow", str(seconds), victim) as address:
        probe = TorchProbe(address, clock=time.time, expected=SIZE)
        try:
            while time.monotonic() < until and not (seen.arrivals and seen.arrivals.last):
                seen.observe_probe(await probe.snapshot(), 0)
                await asyncio.sleep(LOOK)
        finally:
            await probe.close()
    return seen.arrivals, sentence(seen.arrivals) if seen.arrivals else ""
