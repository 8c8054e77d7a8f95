"""The look for incidents at a fleet of 20,000 runs of 50 ranks, which musterd makes every 5 s.

In the usual trouble ten racks of 20 nodes are lost and keep 2,000 runs; in the worst all 20,000 are stuck. What is
measured is a look after which nothing is new, and the diagnosis of all runs that have just become stuck, which one look
does of 1,000 of them.
"""

import asyncio
from dataclasses import replace

from benchmarks.harness.gangs import gang, pod, seen
from benchmarks.harness.loop_lag import cost
from benchmarks.harness.report import Result
from muster.api.values.accelerators import USUAL
from muster.daemon.incidents.watch import EVERY, MOST, IncidentWatch
from muster.metrics.collector import Subject
from muster.state.facts.incidents.grouping import Places
from muster.state.vocabulary.record import Condition, ConditionType, Phase, Record

RUNS, RANKS, NOW = 20_000, 50, 1_800_000_000.0
NODES, RACK = 2_000, 20
STUCK = 2_000
BUDGET = EVERY * 0.1
"""Seconds: a tenth of a core."""
HOLD_BUDGET = 100.0
"""Milliseconds: the failures of one gang wait for a step of the grouping as long."""


class Fleet:
    """Runs, whose first ``stuck`` have a rank on a node that is lost, and a clock that only looks advance."""

    def __init__(self, stuck: int) -> None:
        self.now = NOW
        plan = gang(RANKS)
        lost = Condition(ConditionType.STUCK, True, "NodeNotReady", "", 1, NOW - 5)
        member = pod(plan, 0)
        views = [seen([member.__replace__(node=f"n{n}", ready=False, cut_off=True)], None) for n in range(NODES // 10)]
        self.runs = [
            Subject(
                replace(plan, uid=f"u{n}", namespace=f"team-{n % 50}", name=f"run-{n}"),
                Record(phase=Phase.RUNNING, phase_at=NOW, conditions=(lost,) if n < stuck else ()),
                views[n % len(views)],
            )
            for n in range(RUNS)
        ]
        racks = {f"n{n}": {"topology.kubernetes.io/rack": f"r{n // RACK}"} for n in range(NODES)}
        places = Places(racks)
        self.watch = IncidentWatch(
            lambda: iter(self.runs),
            lambda: True,
            lambda _plan, _line: None,
            clock=lambda: self.now,
            monotonic=lambda: self.now,
            sleep=self._never,
            accelerators=USUAL,
            places=lambda: places,
        )

    async def look(self) -> None:
        """Look once, at once after the one before: no diagnosis is old."""
        self.now += 1e-3
        await self.watch.look()

    async def diagnose(self) -> None:
        """Look once at runs that were not diagnosed before."""
        self.watch.stand_by()
        await self.look()

    async def begin(self) -> None:
        """Look until incidents are shown."""
        for _ in range(1 + RUNS // MOST):
            await self.watch.look()
        self.now += 2 * EVERY
        for _ in range(1 + RUNS // MOST):
            await self.look()

    async def _never(self, seconds: float) -> None:
        raise AssertionError(f"a sleep of {seconds} s")


def run() -> list[Result]:
    """Look at a fleet in the usual trouble, and in the worst."""
    results = []
    for stuck in (STUCK, RUNS):
        fleet = Fleet(stuck)
        what = f"{stuck:,} of {RUNS:,} runs stuck"
        for name, work in ((f"look with {MOST:,} diagnoses", fleet.diagnose), ("look at what is known", fleet.look)):
            if work == fleet.look:
                asyncio.run(fleet.begin())
                assert fleet.watch.tracking.shown
            cpu, _, longest = cost(work)
            results.append(Result(f"{name}, {what}, CPU", cpu, "s", BUDGET))
            results.append(Result(f"{name}, {what}, longest hold of the loop", longest, "ms", HOLD_BUDGET))
    return results
