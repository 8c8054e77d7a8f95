"""A scrape of a large fleet: its series, its size, and the CPU of looking at the runs and of writing their series.

Of 105,000 experiments 5,000 run, and 100,000 have finished within a month. Of those that run two in a hundred are in
trouble, with all of their series, and must be reported whole. All hold accelerators and belong to one of 100 owners,
half report steps, and half have a deadline. In the worst case each of the 5,000 is in trouble, and none may be without
series: then it has no alert. The peer is prometheus_client, which writes the same series.
"""

import gc
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, ParamSpec, TypeVar

from msgspec.structs import replace as edit
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.harness.gangs import gang, pod, roll, seen
from benchmarks.harness.measuring import ROUNDS
from benchmarks.harness.report import Result
from muster.api.goodput import Bucket, Goodput
from muster.metrics.collector import ExperimentCollector, Subject
from muster.metrics.exposition import Seen, look, write
from muster.state.view.progress import StepReport
from muster.state.vocabulary.record import Condition, ConditionType, Phase, Record, StoryLine
from muster.state.vocabulary.rules import ClockName

RUNNING, FINISHED = 5_000, 100_000
TROUBLED = RUNNING // 50
MANY = 20_000
BUDGET = 0.25
"""Seconds."""
SERIES, BYTES = 60_000, 7e6
SIZE, NOW = 8, 1_800_000_000.0
MONTH, HOUR = 30 * 86_400, 3_600
_T = TypeVar("_T")
_P = ParamSpec("_P")
PEER = "prometheus_client.generate_latest"


class Measured(NamedTuple):
    """Seconds of CPU: of the look, which blocks the event loop, and of writing it, compressed as Prometheus asks."""

    look: float
    write: float


def subjects(running: int, finished: int, troubled: int) -> list[Subject]:
    """Return the experiments of a large fleet, each with names of its own; the last ones that run are in trouble."""
    plan = gang(SIZE)
    holding = (replace(each, pod=replace(each.pod, limits={"nvidia.com/gpu": "8"})) for each in plan.groups)
    plan = replace(plan, groups=tuple(holding))
    plans = [replace(plan, clocks=tuple(clock for clock in plan.clocks if clock.name in names)) for names in _CLOCKS]
    stuck = Condition(ConditionType.STUCK, True, "RanksMissing", "7/8 ranks arrived", 1, NOW)
    story = (*(StoryLine(NOW, 0, "Started", "x") for _ in range(16)), StoryLine(NOW, 0, "Stuck", "RanksMissing: x"))
    sums = Goodput(NOW - HOUR, Bucket.PRODUCTIVE, scheduling=9_000, startup=60_000, assembly=5_000, stuck=90_000)
    began = NOW - HOUR
    well = Record(
        phase=Phase.RUNNING, phase_at=began, started_at=began, epoch_at=began, size=SIZE, goodput=sums, story=story
    )
    waits = Goodput(NOW, Bucket.ASSEMBLY)
    ill = edit(well, phase=Phase.ASSEMBLING, assembling_at=NOW, conditions=(stuck,), goodput=waits)
    over = [Record(phase=Phase.SUCCEEDED, phase_at=NOW - MONTH * n / FINISHED) for n in range(min(finished, FINISHED))]
    pods = [pod(plan, rank) for rank in range(SIZE)]
    at_work, waiting = seen(pods, roll(SIZE, NOW)), seen(pods, roll(SIZE, NOW, absent=frozenset({5})))
    reporting = seen(pods, None)
    for step in (1, 2):
        answer = replace(roll(SIZE, NOW - 9 + step), reports=(StepReport(0, step, step, float(step)),))
        reporting.observe_probe(answer, 0)
    found = []
    for n in range(running + finished):
        plan = plans[n % 2]
        mine = replace(plan, namespace=f"team-{n % 50}", name=f"experiment-{n:06}", uid=f"uid-{n}")
        if n >= running:
            found.append(Subject(mine, over[n - running], at_work, owners=_OWNERS[n % 100]))
        elif n >= running - troubled:
            found.append(Subject(mine, ill, waiting, owners=_OWNERS[n % 100]))
        else:
            found.append(Subject(mine, well, (at_work, reporting)[n // 2 % 2], owners=_OWNERS[n % 100]))
    return found


_CLOCKS = (frozenset({ClockName.TOTAL, ClockName.ASSEMBLY}), frozenset({ClockName.ASSEMBLY}))
"""With a deadline, and without."""

_OWNERS = tuple((("label_team", f"team-{n}"),) for n in range(100))


def collector(running: int, finished: int = 0, troubled: int = 0) -> ExperimentCollector:
    """Return a collector of such experiments."""
    found = subjects(running, finished, troubled)
    return ExperimentCollector(lambda: found, lambda: NOW + 60, labels=("label_team",))


def measure(experiments: ExperimentCollector, *, gzipped: bool = True) -> tuple[Measured, bytes]:
    """Return the cheapest of several scrapes, and what it gave, which is not compressed."""
    found, body = [], b""
    for _ in range(ROUNDS):
        gc.collect()
        shown, looked = timed(look, experiments)
        (body, _), written = timed(write, shown, "", gzipped=gzipped)
        found.append(Measured(looked, written))
    return min(found, key=sum), zlib.decompress(body, 16 + zlib.MAX_WBITS) if gzipped else body


def timed(work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> tuple[_T, float]:
    """Return the result of the work, and the seconds of CPU that it took."""
    began = time.process_time()
    return work(*args, **kwargs), time.process_time() - began


def run() -> list[Result]:
    """Measure the usual day, the day on which all are in trouble, and fleets beyond that size."""
    many, body = measure(collector(RUNNING, FINISHED, TROUBLED))
    lines = [line for line in body.splitlines() if not line.startswith(b"#")]
    worst, troubled = measure(collector(RUNNING, FINISHED, RUNNING))
    beyond, fleet = measure(collector(MANY, 0, MANY // 50))
    theirs = Seen(list(text_string_to_metric_families(body.decode())), [])
    _, peer = timed(generate_latest, theirs)
    plain, _ = measure(collector(RUNNING, FINISHED, TROUBLED), gzipped=False)
    of = f"scrape of {RUNNING:,} running and {FINISHED:,} finished experiments"
    return [
        Result(f"{of}, series", len(lines), "series", SERIES),
        Result(f"{of}, size", len(body) / 1e6, "MB", BYTES / 1e6),
        Result(f"{of}, CPU", sum(many), "s", BUDGET),
        Result("of that, on the event loop", many.look, "s"),
        Result("writing the series without compression", plain.write, "s", None, PEER, peer),
        Result("of those that run without series", RUNNING - _running(body), "experiments", 0),
        Result("the same while all that run are in trouble, CPU", sum(worst), "s"),
        Result("of those that run without series", RUNNING - _running(troubled), "experiments", 0),
        Result(f"scrape of {MANY:,} running experiments, CPU", sum(beyond), "s"),
        Result("of those without series", MANY - _running(fleet), "experiments", 0),
    ]


def _running(body: bytes) -> int:
    """Return the number of experiments that run and have series."""
    return body.count(b"\nmuster_experiment_stuck{")
