"""CPU of the daemon's work in slices, and the time for which it blocks the event loop.

The loop's lag is how late a timer fires meanwhile, but at most the CPU that this process used meanwhile:
the rest is due to other processes.
"""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from benchmarks.harness.measuring import ROUNDS
from muster.daemon.main import settle_memory

BEAT = 0.002
LAG_BUDGET = 20.0
"""Milliseconds, for the 99th percentile."""


async def _beat(lags: list[float]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        due, used = loop.time() + BEAT, time.process_time()
        await asyncio.sleep(BEAT)
        lags.append(min(max(0.0, loop.time() - due), time.process_time() - used))


@contextmanager
def _settled() -> Iterator[None]:
    """Set the garbage collector as musterd does after its first lists."""
    before = gc.get_threshold()
    settle_memory()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


class Cost(NamedTuple):
    """Each in the best round: seconds of CPU, and milliseconds of lag: the 99th percentile, and the longest."""

    cpu: float
    lag: float
    longest: float


def cost(work: Callable[[], Awaitable[object]]) -> Cost:
    """Return the cost of one run of the work."""
    with _settled():
        return asyncio.run(_cost(work))


async def _cost(work: Callable[[], Awaitable[object]]) -> Cost:
    spent, late, longest = [], [], []
    for _ in range(ROUNDS):
        lags: list[float] = []
        beating = asyncio.create_task(_beat(lags))
        await asyncio.sleep(BEAT)
        began = time.process_time()
        await work()
        spent.append(time.process_time() - began)
        await asyncio.sleep(BEAT)  # the beat that the last piece of work blocked
        beating.cancel()
        late.append(sorted(lags)[int(len(lags) * 0.99)])
        longest.append(max(lags))
    return Cost(min(spent), min(late) * 1e3, min(longest) * 1e3)
