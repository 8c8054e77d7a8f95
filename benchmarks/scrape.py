"""A scrape of a large cluster: CPU of one look at 100,000 experiments, and of writing their series.

Of them 2,000 run, each with a missing rank, a roll, clocks and a story, and must be reported whole. The others have
finished, and have series as far as the cap on the series of a scrape allows. The peer is prometheus_client, which
writes the same series.
"""

import gc
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ParamSpec, TypeVar

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.harness.gangs import gang, pod, roll, seen
from benchmarks.harness.measuring import ROUNDS
from benchmarks.harness.result import Result
from muster.api.goodput import Bucket, Goodput
from muster.metrics.collector import ExperimentCollector, Subject
from muster.metrics.exposition import Seen, look, write
from muster.state.policies import deadline
from muster.state.vocabulary.record import Condition, ConditionType, Phase, Record, StoryLine

EXPERIMENTS, RUNNING, FLEET = 100_000, 2_000, 20_000
INFO = b"muster_experiment_info{"
BUDGET = 0.25
"""Seconds."""
SIZE, NOW = 8, 1_800_000_000.0
_T = TypeVar("_T")
_P = ParamSpec("_P")
PEER = "prometheus_client.generate_latest"


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds of CPU: of the look, which holds up the event loop, and of writing it, compressed as Prometheus asks."""

    look: float
    write: float

    @property
    def total(self) -> float:
        """Of the whole scrape."""
        return self.look + self.write


def subjects(running: int, finished: int) -> list[Subject]:
    """The experiments of a large cluster, each with names of its own."""
    plan = gang(SIZE)
    stuck = Condition(ConditionType.STUCK, True, "RanksMissing", "7/8 ranks arrived", 1, NOW)
    story = (*(StoryLine(NOW, 0, "Started", "x") for _ in range(16)), StoryLine(NOW, 0, "Stuck", "RanksMissing: x"))
    going = Record(
        phase=Phase.ASSEMBLING,
        phase_at=NOW,
        started_at=NOW,
        epoch_at=NOW,
        assembling_at=NOW,
        ending_at=NOW,
        size=SIZE,
        conditions=(stuck,),
        story=story,
        goodput=Goodput(NOW, Bucket.ASSEMBLY),
    )
    over = Record(phase=Phase.SUCCEEDED, phase_at=NOW)
    view = seen([pod(plan, rank) for rank in range(SIZE)], roll(SIZE, NOW, absent=frozenset({5})))
    return [
        Subject(
            replace(plan, namespace=f"team-{n % 50}", name=f"experiment-{n:06}", uid=f"uid-{n}"),
            going if n < running else over,
            view,
        )
        for n in range(running + finished)
    ]


def collector(running: int, finished: int) -> ExperimentCollector:
    """What is scraped of them."""
    found = subjects(running, finished)
    return ExperimentCollector(lambda: found, lambda: NOW + 60, deadline.ends)


def measure(experiments: ExperimentCollector, *, gzipped: bool = True) -> tuple[Measured, bytes]:
    """The cheapest of several scrapes, and what it gave, which is not compressed."""
    found, body = [], b""
    for _ in range(ROUNDS):
        gc.collect()
        shown, looked = timed(look, experiments)
        (body, _), written = timed(write, shown, "", gzipped=gzipped)
        found.append(Measured(looked, written))
    return min(found, key=lambda one: one.total), zlib.decompress(body, 16 + zlib.MAX_WBITS) if gzipped else body


def timed(work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> tuple[_T, float]:
    """What it gives, and the seconds of CPU that it took."""
    began = time.process_time()
    return work(*args, **kwargs), time.process_time() - began


def run() -> list[Result]:
    """Measure a large cluster, and one in which only the 2,000 are."""
    many, body = measure(collector(RUNNING, EXPERIMENTS - RUNNING))
    plain, _ = measure(collector(RUNNING, EXPERIMENTS - RUNNING), gzipped=False)
    few, whole = measure(collector(RUNNING, 0))
    worst, _ = measure(collector(EXPERIMENTS, 0))
    _, fleet = measure(collector(FLEET, 0))
    series = sum(not line.startswith(b"#") for line in body.splitlines())
    missing = RUNNING - whole.count(INFO)
    theirs = Seen(list(text_string_to_metric_families(body.decode())), [])
    _, peer = timed(generate_latest, theirs)
    return [
        Result.of("scrape of 100,000 experiments, CPU", many.total, "s", BUDGET),
        Result.of("of that, on the event loop", many.look, "s"),
        Result.of("writing the series without compression", plain.write, "s", None, PEER, peer),
        Result.of("series in that scrape", series, "series"),
        Result.of("the same while all of them run", worst.total, "s", BUDGET),
        Result.of("scrape of 2,000 running experiments, CPU", few.total, "s", BUDGET),
        Result.of("of that, on the event loop", few.look, "s"),
        Result.of("of 2,000 running experiments not reported whole", missing, "experiments", 0),
        Result.of(f"of {FLEET:,} running experiments reported", fleet.count(INFO), "experiments", None),
    ]
