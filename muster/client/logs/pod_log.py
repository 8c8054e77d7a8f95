"""The log of one pod, line by line with times; and the logs of many ranks merged into one by time."""

import asyncio
import heapq
import math
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from random import SystemRandom
from tempfile import TemporaryFile
from typing import IO

import msgspec

from muster.api.errors import ApiError, Invalid, NotFound
from muster.api.names import CONTAINER
from muster.api.values.rank_ranges import of_ranks
from muster.api.values.timestamps import whole_time
from muster.client.member import Member, member_of
from muster.kube.resources import ResourceClient, core
from muster.kube.workqueue import Backoff


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
        return f"{of_ranks(self.ranks)}: {self.why}"


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
        if isinstance(self.since, datetime):
            found["sinceTime"] = self.since.astimezone().isoformat(timespec="seconds")
        elif self.since is not None:
            found["sinceSeconds"] = str(max(1, round(self.since)))
        return found


_STAMP = re.compile(r"(.{10}T[0-9:]{8})(?:\.([0-9]{1,9}))?(Z|[+-][0-9:]{5})")
"""The time to the second, the digits of its fraction, and its zone."""


def nanoseconds(stamp: str) -> int | None:
    """Return nanoseconds since 1970 of an RFC 3339 time with up to nine digits of a second; None for any other text."""
    if (found := _STAMP.fullmatch(stamp)) is None or (seconds := _second(found[1] + found[3])) is None:
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

    At most ``at_once`` streams are open at the same time. More are merged in rounds into temporary files, which are
    then merged: connections and memory stay bounded, and the result is the same. Every stream is closed at the end.
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


RESUME_PAUSE = 1.0
LONGEST_PAUSE = 30.0
"""Seconds between a broken stream and the next attempt: doubled while no line comes."""
SILENCE = 60.0
"""Seconds that a read may be silent; a followed log has no limit."""
TOO_LONG = "TooLong"
"""Reason of an error: a line is longer than is read. It would be met again after every new connection."""

Stamped = tuple[str, str]
"""A time (RFC 3339; empty where the kubelet gives none) and a line."""


@dataclass(slots=True)
class PodLog:
    """Reads the log of a pod's main container. What ``read`` has delivered, a later ``follow`` does not repeat.

    It is read with the server's timestamps, so that it can resume after a broken connection: Kubernetes resumes at a
    whole second (core/v1 PodLogOptions.sinceTime), and lines of that second that were delivered already are dropped.
    """

    resources: ResourceClient
    namespace: str
    pod: str
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    container: str = CONTAINER
    _point: "_ResumePoint" = field(default_factory=lambda: _ResumePoint())

    async def read(self, start: LogStart, *, previous: bool = False) -> AsyncGenerator[Stamped, None]:
        """Yield the lines written until now. Raises ``NotFound`` or ``Invalid`` if no such log exists."""
        params = {"container": self.container, "timestamps": "true", **start.params()}
        if previous:
            params["previous"] = "true"
        async with self.resources.transport.lines(self._path, params=params, silence=SILENCE) as lines:
            async for line in lines:
                stamped = _parted(line)
                self._point.new(stamped)
                yield stamped

    async def follow(self, start: LogStart) -> AsyncGenerator[Stamped, None]:
        """Yield the lines written so far, and those written until the container has ended or its pod is deleted."""
        backoff = Backoff(RESUME_PAUSE, LONGEST_PAUSE, SystemRandom())
        over = False  # checked before a stream is opened: nothing is written after the end
        while True:
            params = {"container": self.container, "follow": "true", "timestamps": "true", **self._point.resume(start)}
            broken = False
            try:
                async with self.resources.transport.lines(self._path, params=params, silence=math.inf) as lines:
                    async for line in lines:
                        backoff.reset()
                        stamped = _parted(line)
                        if self._point.new(stamped):
                            yield stamped
            except NotFound:
                return
            except Invalid:
                pass  # the container waits to start
            except ApiError as error:
                if (error.status and error.status < 500) or error.reason == TOO_LONG:
                    raise
                broken = True
            if over and not broken:
                return
            over = await self._ended()
            if broken or not over:
                await self.sleep(backoff.delay() if broken else RESUME_PAUSE)

    async def _ended(self) -> bool:
        try:
            member = member_of(await self.resources.get(core(self.namespace, "pods", self.pod)))
        except ApiError as error:
            return isinstance(error, NotFound)
        return member.phase in ("Succeeded", "Failed") or (member.started and not member.running)

    @property
    def _path(self) -> str:
        return f"{core(self.namespace, 'pods', self.pod)}/log"


def log_of(resources: ResourceClient, namespace: str, member: Member) -> PodLog:
    """Return the log of that member's pod."""
    return PodLog(resources, namespace, member.pod, container=member.container or CONTAINER)


async def tail_of(
    resources: ResourceClient, namespace: str, member: Member, lines: int, most_bytes: int
) -> list[Stamped]:
    """Return the latest lines of that member's log, as far as so many bytes have them. Raises ``ApiError``."""
    async with aclosing(log_of(resources, namespace, member).read(LogStart(lines, most_bytes=most_bytes))) as read:
        return [stamped async for stamped in read]


class _ResumePoint:
    """End of the delivered part of a log: the time of the last line, and the number of lines with that time."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._count = 0
        self._repeated = 0
        self._catching_up = False

    def resume(self, start: LogStart) -> dict[str, str]:
        """Query parameters to resume from here; the server repeats the lines of the last whole second."""
        self._repeated = 0
        self._catching_up = self._last is not None
        return start.params() if self._last is None else {"sinceTime": whole_time(self._last // 1_000_000_000)}

    def new(self, stamped: Stamped) -> bool:
        """Return True if this line was not delivered yet; it counts as delivered from now on."""
        at = nanoseconds(stamped[0])
        if at is None:
            return True
        if self._catching_up and self._last is not None:
            if at < self._last:
                return False
            if at == self._last:
                self._repeated += 1
                if self._repeated <= self._count:
                    return False
        self._catching_up = False  # from here on a smaller time is a step of the node's clock, and no repetition
        self._last, self._count = at, self._count + 1 if at == self._last else 1
        return True


def _parted(line: bytes) -> Stamped:
    """Return time and text of a line; a message of the kubelet itself has no time."""
    text = line.decode("utf-8", "replace").rstrip("\r")
    stamp, _, rest = text.partition(" ")
    return (stamp, rest) if nanoseconds(stamp) is not None else ("", text)
