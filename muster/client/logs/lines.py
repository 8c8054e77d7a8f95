"""Lines of logs with their times, and the logs of many ranks merged into one by time.

A stream is open for each rank that is merged, so at most ``at_once`` of them are merged directly. The logs of more
ranks are merged in rounds into temporary files, which are then merged: connections and memory stay bounded, and the
result is the same.
"""

import asyncio
import heapq
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from tempfile import TemporaryFile
from typing import IO

import msgspec

from muster.api.values.rank_ranges import to_ranges


class LogLine(msgspec.Struct, frozen=True, array_like=True):
    """A line that a member wrote."""

    rank: int
    text: str
    group: str = ""
    epoch: int = 0
    pod: str = ""
    time: str = ""
    """Time in RFC 3339 with nanoseconds, by the clock of the node; empty if the kubelet gives none."""


@dataclass(frozen=True, slots=True)
class LogNote:
    """Why nothing, or not everything, of some ranks is read."""

    ranks: tuple[int, ...]
    why: str
    failed: bool = False
    """There is a log, and it could not be read."""

    def __str__(self) -> str:
        return f"rank{'' if len(self.ranks) == 1 else 's'} {to_ranges(self.ranks)}: {self.why}"


@dataclass(frozen=True, slots=True)
class LogStart:
    """Start of a log: with the latest ``tail`` lines, with those since a moment or the last so many seconds.

    ``most_bytes`` ends what is read of the log, in the middle of a line if need be.
    """

    tail: int | None = None
    since: float | datetime | None = None
    most_bytes: int | None = None

    def params(self) -> dict[str, str]:
        """Query parameters (core/v1 PodLogOptions). Seconds are counted back by the node's own clock."""
        found = {} if self.tail is None else {"tailLines": str(self.tail)}
        if self.most_bytes is not None:
            found["limitBytes"] = str(self.most_bytes)
        match self.since:
            case None:
                pass
            case datetime() as moment:
                found["sinceTime"] = moment.astimezone().isoformat(timespec="seconds")
            case seconds:
                found["sinceSeconds"] = str(max(1, round(seconds)))
        return found


_STAMP = re.compile(r"(.{10}T[0-9:]{8})(?:\.([0-9]{1,9}))?(Z|[+-][0-9:]{5})")
"""The time to the second, the digits of its fraction, and its zone."""


def nanoseconds(stamp: str) -> int | None:
    """Return nanoseconds since 1970 of an RFC 3339 time with up to nine digits of a second; None for any other text."""
    found = _STAMP.fullmatch(stamp)
    seconds = None if found is None else _second(found[1] + found[3])
    if found is None or seconds is None:
        return None
    return seconds * 1_000_000_000 + int((found[2] or "").ljust(9, "0"))


@lru_cache(1024)
def _second(stamp: str) -> int | None:
    try:
        return int(datetime.fromisoformat(stamp).timestamp())
    except (ValueError, OverflowError):
        return None


Lines = AsyncGenerator[LogLine, None]


async def merged(streams: Sequence[Lines], at_once: int) -> Lines:
    """Yield the lines of all streams by time; lines of a stream stay in order, and those without a time behind theirs.

    At most ``at_once`` streams are open at the same time. Every stream is closed at the end.
    """
    async with AsyncExitStack() as stack:
        for stream in streams:
            stack.push_async_callback(stream.aclose)
        if len(streams) > at_once:
            rounds = []
            for first in range(0, len(streams), at_once):
                file = stack.enter_context(TemporaryFile())  # noqa: SIM115 - the stack closes it
                await _write(_merge(streams[first : first + at_once]), file)
                rounds.append(_read(file))
            streams = rounds
        async with aclosing(_merge(streams)) as lines:
            async for line in lines:
                yield line


async def _merge(streams: Sequence[Lines]) -> Lines:
    heads: list[tuple[int, int, LogLine]] = []

    def push(number: int, line: LogLine | None, before: int) -> None:
        if line is not None:
            at = nanoseconds(line.time)
            heapq.heappush(heads, (before if at is None else max(before, at), number, line))

    for number, line in enumerate(await asyncio.gather(*(anext(stream, None) for stream in streams))):
        push(number, line, 0)
    while heads:
        at, number, line = heapq.heappop(heads)
        yield line
        push(number, await anext(streams[number], None), at)


async def _write(lines: Lines, file: IO[bytes]) -> None:
    encoder = msgspec.json.Encoder()
    async with aclosing(lines) as stream:
        async for line in stream:
            file.write(encoder.encode(line) + b"\n")
    file.seek(0)


async def _read(file: IO[bytes]) -> Lines:
    decoder = msgspec.json.Decoder(LogLine)
    for line in file:
        yield decoder.decode(line)
