"""The page of 100,000 experiments, and its JSON listing: CPU of one answer, and how long it holds up the event loop.

Both walk over all experiments in slices, between which the loop goes on. In the usual cluster 2,000 of them run with a
missing rank, and the others have finished; in the worst one all of them run. The loop's lag is how late a timer fires
while answers are made, but at most the CPU that this process used meanwhile: the rest is due to other processes.
"""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from benchmarks.fleet import LAG_BUDGET
from benchmarks.harness.measuring import ROUNDS
from benchmarks.harness.result import Result
from benchmarks.scrape import EXPERIMENTS, NOW, RUNNING, subjects
from muster.daemon.main import settle_memory
from muster.daemon.web.listing import MOST, Query, listing
from muster.daemon.web.page.runbooks import Runbooks
from muster.daemon.web.pages import Pages
from muster.daemon.web.readers import Anyone
from muster.metrics.collector import Subject
from muster.state.policies.deadline import ends
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Record
from muster.state.vocabulary.rules import ClockName

BUDGET = 5.0
"""Seconds of CPU, also where all of them run: half of what a request may take."""
BEAT = 0.002


@dataclass(frozen=True, slots=True)
class All:
    """The index of a daemon that has these experiments."""

    here: Sequence[Subject]

    def subjects(self) -> Sequence[Subject]:
        """All of them."""
        return self.here

    def find(self, namespace: str, name: str) -> Subject | None:
        """Never asked for."""
        raise LookupError(f"{namespace}/{name}")

    def clocks(self, plan: Plan, record: Record) -> Mapping[ClockName, float]:
        """Its running clocks."""
        return ends(plan, record)


async def _beat(lags: list[float]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        due, used = loop.time() + BEAT, time.process_time()
        await asyncio.sleep(BEAT)
        lags.append(min(max(0.0, loop.time() - due), time.process_time() - used))


@contextmanager
def _settled() -> Iterator[None]:
    """The garbage collector as musterd sets it after its first lists."""
    before = gc.get_threshold()
    settle_memory()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


async def _measure(answer: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """Seconds of CPU of the cheapest answer, and the 99th percentile of the lag in the round where it is least."""
    spent, late = [], []
    for _ in range(ROUNDS):
        lags: list[float] = []
        beating = asyncio.create_task(_beat(lags))
        await asyncio.sleep(BEAT)
        began = time.process_time()
        await answer()
        spent.append(time.process_time() - began)
        beating.cancel()
        late.append(sorted(lags)[int(len(lags) * 0.99)])
    return min(spent), min(late)


def run() -> list[Result]:
    """Answer as the server does, without the socket."""
    results = []
    query = Query.of([("hurts", "missing"), ("limit", str(MOST))])
    for among, running in ((f"{RUNNING:,} of them running", RUNNING), ("all of them running", EXPERIMENTS)):
        index = All(subjects(running, EXPERIMENTS - running))
        pages = Pages(index, lambda: "leading", lambda: NOW + 60, Runbooks("https://example.org/runbooks"))
        answers: dict[str, Callable[[], Awaitable[object]]] = {
            "page": partial(pages.fleet, Anyone(), {}),
            "listing of what hurts": partial(listing, index.here, index.clocks, NOW + 60, query),
        }
        for name, answer in answers.items():
            with _settled():
                cpu, lag = asyncio.run(_measure(answer))
            what = f"{name} of {EXPERIMENTS:,} experiments, {among}"
            results.append(Result.of(f"{what}, CPU", cpu, "s", BUDGET))
            results.append(Result.of(f"{what}, loop lag p99", lag * 1e3, "ms", LAG_BUDGET))
    return results
