"""Goodput of each week, from a Prometheus that scrapes musterd.

The sums of a week are the increases of the counters within it, so they hold also for experiments that were deleted
since. Prometheus extrapolates an increase to the ends of its window: a figure may be off by the time between two
scrapes for each experiment that began or ended in the week. What is lost in one week of the work of another is taken
from the productive time of the week in which that is known, and from no more than it has.
"""

import asyncio
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from muster.api.goodput import BADPUT, Bucket
from muster.cli.commands.goodput.account import Account
from muster.cli.commands.goodput.prometheus import Prometheus, Source, quoted
from muster.cli.terminal.colours import say

WEEK: Final = timedelta(days=7)


def weeks(now: float, count: int) -> Iterator[tuple[datetime, float]]:
    """Yield the last weeks with the present one last: each Monday 00:00 UTC, and when the week ends, or now."""
    today = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    monday = today - timedelta(days=today.weekday())
    for back in reversed(range(count)):
        begin = monday - back * WEEK
        yield begin, min(now, (begin + WEEK).timestamp())


def selector(labels: Mapping[str, str]) -> str:
    """Return ``{namespace="ml"}``, with every value quoted."""
    return "{" + ",".join(f"{name}={quoted(value)}" for name, value in labels.items() if value) + "}"


async def by_week(source: Source, labels: Mapping[str, str], now: float, count: int) -> list[Account]:
    """Return the sums of each week. Raises ``MusterError`` where Prometheus does not answer with them."""
    async with Prometheus(source) as prometheus:
        asked = [_week(prometheus, selector(labels), begin, end) for begin, end in weeks(now, count)]
        found = list(await asyncio.gather(*asked))
        say(*(f"muster: {warning}" for warning in prometheus.warnings))
        return found


async def _week(prometheus: Prometheus, chosen: str, begin: datetime, end: float) -> Account:
    window = max(1, round(end - begin.timestamp()))

    async def increases(metric: str, by: str = "") -> dict[str, float]:
        series = f"muster_experiment_{metric}_seconds_total{chosen}[{window}s]"
        found = await prometheus.ask(f"sum by ({by}) (increase({series}))", end)
        return {labels.get(by, ""): 1000 * value for labels, value in found}

    productive, taken_back, badput = await asyncio.gather(
        increases("productive"), increases("taken_back"), increases("badput", "source")
    )
    net = productive.get("", 0.0) - taken_back.get("", 0.0)
    buckets = {each: badput.get(each.value, 0.0) for each in BADPUT} | {Bucket.PRODUCTIVE: max(0.0, net)}
    return Account(f"week of {begin:%Y-%m-%d}", buckets, {}, experiments=0)
