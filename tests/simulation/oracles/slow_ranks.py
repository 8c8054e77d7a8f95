"""A rank is reported to come last to its gang's collectives where it does, soon enough, and not for long after that.

Who is slow, and since when, is read from the scenario and from the processes of the world.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from muster.api.values.rank_ranges import from_ranges
from tests.scenarios.incidents import Slow
from tests.scenarios.scenario import path_of
from tests.simulation.plans.plan import CRASHES, FOREIGN_CHANGES, TAKEOVERS
from tests.simulation.world.world import EPOCH, World

LAST = re.compile(r"\branks? ([\d, -]*\d) comes? last to the collectives of default_pg\b")
NOT_BEFORE = 240.0
"""Seconds of a slow rank before which nothing is reported: four windows, and a part of the first."""
WITHIN = 400.0
"""Seconds of a slow rank within which it is reported."""
NOT_AFTER = 380.0
"""Seconds after the end of its slowness for which it may still be reported."""
WRITTEN = 5.0
"""Seconds within which the end of an epoch is written."""
NOTHING, MUCH = 0.2, 0.3
"""The share of a step that a rank costs below which it is never named, and above which it always is."""


@dataclass(frozen=True, slots=True)
class _Slowness:
    """A rank that costs ``share`` of each step from ``begin`` to ``end``, and whose epoch is over at ``over``."""

    rank: int
    share: float
    begin: float
    end: float
    over: float


def named_as_slow(world: World) -> Iterator[str]:
    """The ranks that are reported to come last and do not, and those that do and are not reported."""
    if not world.scenario.collectives or world.plan.has(*FOREIGN_CHANGES):
        return
    slow, said = _slow(world), list(_said(world))
    late = WRITTEN + world.plan.seconds
    for at, until, ranks in said:
        for rank in ranks:
            if not any(
                each.rank == rank and each.share >= NOTHING and each.begin + NOT_BEFORE <= at
                and until <= min(each.end, each.over) + (NOT_AFTER if each.end < each.over else late)
                for each in slow
            ):  # fmt: skip
                yield f"from {at:.0f} s to {until:.0f} s rank {rank} is said to come last"
                return
    if world.plan.has(*CRASHES, *TAKEOVERS):
        return  # who leads next has to see it anew
    for each in slow:
        due = each.begin + WITHIN + late
        costs = each.share >= MUCH and due <= min(each.end, each.over)
        if costs and not any(each.rank in ranks and at <= due < until for at, until, ranks in said):
            yield f"rank {each.rank} is slow since {each.begin:.0f} s, and that is not said at {due:.0f} s"


def _slow(world: World) -> list[_Slowness]:
    found = []
    for process in world.kubelet.processes.values():
        for each in world.incidents_of(process, Slow) if process.assembled else ():
            begin = process.worked_at + each.after
            over = process.ended_at - EPOCH if process.ended_at else world.loop.time()
            share = each.behind / (world.scenario.collectives + each.behind)
            found.append(_Slowness(process.rank, share, begin, min(begin + each.seconds, over), over))
    return found


def _said(world: World) -> Iterator[tuple[float, float, list[int]]]:
    """From when to when the status named which ranks."""
    changes = [each for each in world.changes if each.path == path_of("run") and each.after.get("status")]
    ends = [*(each.at for each in changes[1:]), EPOCH + world.loop.time()]
    for change, until in zip(changes, ends, strict=True):
        if found := LAST.search(change.after["status"].get("message", "")):
            ranks = list(from_ranges(found[1].replace(" ", ""), world.plan.size))
            yield change.at - EPOCH, until - EPOCH, ranks
