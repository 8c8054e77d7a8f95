"""The log of one pod.

It is read with the server's timestamps, so that it can resume after a broken connection: Kubernetes resumes at a
whole second (core/v1 PodLogOptions.sinceTime), and the lines of that second that were delivered already are dropped.
"""

import asyncio
import math
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from random import SystemRandom

from muster.api.errors import ApiError, Invalid, NotFound
from muster.api.names import CONTAINER
from muster.api.values.timestamps import whole_time
from muster.client.logs.lines import LogStart, nanoseconds
from muster.client.member import Member, member_of
from muster.kube.backoff import Backoff
from muster.kube.paths import core
from muster.kube.resources import ResourceClient

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
    """Reads the log of a pod's main container. What ``read`` has delivered, a later ``follow`` does not repeat."""

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
    reading = log_of(resources, namespace, member).read(LogStart(lines, most_bytes=most_bytes))
    async with aclosing(reading) as read:
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
