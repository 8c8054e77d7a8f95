"""``python -m tests.recorder.slow``: a gang of real PyTorch processes that all get on, one slower than the others.

It prints who is said to come last, and after how many seconds: seven to nine minutes, so no test plays it.
"""

import asyncio
import tempfile
import time
from pathlib import Path

import click

from muster.state.view.recorder.arrivals import Arrivals, sentence
from muster.state.view.view import View
from muster.watchers.probes.torch.probe import TorchProbe
from tests.frameworks.interpreters import CURRENT_TORCH, reason_without
from tests.hangs.played import LOOK, SIZE
from tests.recorder.gang import gang

PROGRAM = """\
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
    with gang(folder, PROGRAM, str(seconds), victim) as address:
        probe = TorchProbe(address, clock=time.time, expected=SIZE)
        try:
            while time.monotonic() < until and not (seen.arrivals and seen.arrivals.last):
                seen.observe_probe(await probe.snapshot(), 0)
                await asyncio.sleep(LOOK)
        finally:
            await probe.close()
    return seen.arrivals, sentence(seen.arrivals) if seen.arrivals else ""


@click.command()
@click.option("--seconds", default=0.2, show_default=True, help="By which the rank is slower in each step; 0: none is.")
@click.option("--rank", default=1, show_default=True, help="The rank.", type=click.IntRange(0, SIZE - 1))
@click.option("--patience", default=900.0, show_default=True, help="Seconds after which it is given up.")
def command(seconds: float, rank: int, patience: float) -> None:
    """Play it, and exit with 0 if that rank is named, or none where none is slower."""
    if reason := reason_without(CURRENT_TORCH):
        raise click.ClickException(reason)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        seen, said = asyncio.run(seen_of(Path(folder), seconds, rank, patience=patience))
    click.echo(f"after {time.monotonic() - began:.0f} s: {said or 'nothing is said'}")
    named = seen.members if seen is not None else ()
    raise SystemExit(0 if named == ((rank,) if seconds else ()) else 1)


if __name__ == "__main__":
    command()
