"""A gang of real jax processes with a double of NCCL's RAS in each: rank 1 starts no collective after number 120.

Every process keeps the number that it has started in a file of its own, and starts the next one when all have started
the last. When rank 1 halts, rank 0 starts two more than rank 2, as processes do that run ahead of their devices. The
double in each answers for all of them.
"""

import asyncio
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from muster.jax import initialize
from tests.fakes.ras import FakeRas, communicator, rank_of, status

HALTS_AT = 120
LAST = {0: HALTS_AT + 3, 1: HALTS_AT, 2: HALTS_AT + 1}
folder = Path(sys.argv[1])
rank = int(os.environ["MUSTER_RANK"])
host, port = os.environ["NCCL_RAS_ADDR"].rsplit(":", 1)


def started() -> list[tuple[str, int]]:
    """Of each rank that has started any, its address and how many."""
    rows = (path.read_text().split() for path in sorted(folder.glob("rank-*")))
    return [(ip, int(count)) for ip, count in rows]


class Double(FakeRas):
    """Answers for all processes of the gang."""

    async def _answered(self, command: str, writer: asyncio.StreamWriter) -> bool:
        self.says = answer()
        return await super()._answered(command, writer)


def answer() -> dict[str, Any]:
    """What RAS answers about them."""
    ranks = [rank_of(number, ip, {"AllReduce": count}) for number, (ip, count) in enumerate(started())]
    return status(communicator(ranks)) if len(ranks) == len(LAST) else status()


async def serve() -> None:
    """For ever."""
    async with Double(host, int(port)):
        await asyncio.Event().wait()


threading.Thread(target=lambda: asyncio.run(serve()), daemon=True).start()
initialize()
count = 0
while True:
    counts = [number for _, number in started()]
    slowest = min(counts) if len(counts) == len(LAST) else 0
    count = min(count + 1, slowest + (1 if slowest < HALTS_AT else 3), LAST[rank])
    written = folder / f".rank-{rank}"
    written.write_text(f"{host} {count}")
    written.rename(folder / f"rank-{rank}")
    time.sleep(0.25)
