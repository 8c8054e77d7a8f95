"""Where the time went in each week, as a Prometheus that scrapes musterd has it.

The sums of a week are the increases of the counters within it, so they hold also for experiments that are deleted
since. Prometheus extrapolates an increase to the ends of its window: a figure may be off by the time between two
scrapes for each experiment that began or ended in the week. What is lost in one week of the work of another is taken
from the productive time of the week in which that is known, and from no more than it has.
"""

import asyncio
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any, Final

import aiohttp
import msgspec

from muster.api.errors import MusterError
from muster.api.goodput import BADPUT, Bucket
from muster.api.values.printable import printable
from muster.cli.commands.goodput.account import Account

PATIENCE: Final = 30.0
"""Seconds in which Prometheus must answer a query."""
LARGEST: Final = 4 << 20
"""Bytes of an answer."""
WEEK: Final = timedelta(days=7)


class Sample(msgspec.Struct, frozen=True):
    """One series of an answer: its labels, and a time with a number written as text."""

    metric: dict[str, str]
    value: tuple[float, str]


class Result(msgspec.Struct, frozen=True):
    """What a query has found."""

    result: list[Sample]


class Answer(msgspec.Struct, frozen=True):
    """An answer of /api/v1/query."""

    status: str
    data: Result | None = None
    error: str = ""


def weeks(now: float, count: int) -> Iterator[tuple[datetime, float]]:
    """The last weeks with the present one last: each Monday 00:00 UTC, and when the week ends, or now."""
    today = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    monday = today - timedelta(days=today.weekday())
    for back in reversed(range(count)):
        begin = monday - back * WEEK
        yield begin, min(now, (begin + WEEK).timestamp())


def selector(labels: Mapping[str, str]) -> str:
    """``{namespace="ml"}``, with every value quoted."""
    return "{" + ",".join(f"{name}={_quoted(value)}" for name, value in labels.items() if value) + "}"


async def by_week(url: str, labels: Mapping[str, str], now: float, count: int) -> list[Account]:
    """The sums of each week. Raises ``MusterError`` where Prometheus does not answer with them."""
    timeout = aiohttp.ClientTimeout(total=PATIENCE)
    async with aiohttp.ClientSession(timeout=timeout, trust_env=True) as session:
        try:
            asked = [_week(session, url, selector(labels), begin, end) for begin, end in weeks(now, count)]
            return list(await asyncio.gather(*asked))
        except (aiohttp.ClientError, TimeoutError) as error:
            raise MusterError(f"Prometheus does not answer: {printable(str(error) or 'not in time')}") from error
        except (msgspec.DecodeError, ValueError) as error:
            raise MusterError(f"what answers is no Prometheus: {printable(str(error))}") from error


async def _week(session: aiohttp.ClientSession, url: str, chosen: str, begin: datetime, end: float) -> Account:
    window = max(1, round(end - begin.timestamp()))

    async def increases(metric: str, by: str = "") -> dict[str, float]:
        series = f"muster_experiment_{metric}_seconds_total{chosen}[{window}s]"
        found = await _query(session, url, f"sum by ({by}) (increase({series}))", end)
        values = {each.metric.get(by, ""): 1000 * float(each.value[1]) for each in found}
        return {label: value for label, value in values.items() if isfinite(value)}

    productive, taken_back, badput = await asyncio.gather(
        increases("productive"), increases("taken_back"), increases("badput", "source")
    )
    net = productive.get("", 0.0) - taken_back.get("", 0.0)
    buckets = {each: badput.get(each.value, 0.0) for each in BADPUT} | {Bucket.PRODUCTIVE: max(0.0, net)}
    return Account(f"week of {begin:%Y-%m-%d}", buckets, {}, experiments=0)


async def _query(session: aiohttp.ClientSession, url: str, promql: str, at: float) -> list[Sample]:
    form: dict[str, Any] = {"query": promql, "time": f"{at:.3f}"}
    async with session.post(f"{url.rstrip('/')}/api/v1/query", data=form) as response:
        body = await response.content.read(LARGEST + 1)
        while len(body) <= LARGEST and (more := await response.content.read(LARGEST + 1 - len(body))):
            body += more
    if len(body) > LARGEST:
        raise MusterError(f"Prometheus answers with more than {LARGEST >> 20} MiB")
    if response.status not in (200, 400, 422, 503):
        raise MusterError(f"Prometheus answers with status {response.status}")
    answer = msgspec.json.decode(body, type=Answer)
    if answer.data is None:
        raise MusterError(f"Prometheus refuses the query: {printable(answer.error)}")
    return answer.data.result


def _quoted(value: str) -> str:
    return msgspec.json.encode(value).decode()
