"""The log of one pod.

It is followed with the server's timestamps, so that it can resume after a broken connection: Kubernetes resumes at a
whole second (core/v1 PodLogOptions.sinceTime), and the lines of that second that were delivered already are dropped.
"""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from random import SystemRandom

from muster.api.errors import ApiError, Invalid, NotFound
from muster.api.names import CONTAINER
from muster.client.member import Member, member_of
from muster.kube.backoff import Backoff
from muster.kube.paths import core
from muster.kube.resources import ResourceClient

RESUME_PAUSE = 1.0
LONGEST_PAUSE = 30.0
"""Seconds between a broken stream and the next attempt: doubled while no line comes."""
SILENCE = 60.0
"""Seconds that a read may be silent; a followed log has no limit."""


@dataclass(frozen=True, slots=True)
class PodLog:
    """Reads the log of a pod's main container."""

    resources: ResourceClient
    namespace: str
    pod: str
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def read(self, *, tail: int | None = None, previous: bool = False) -> AsyncIterator[str]:
        """What was written until now. Raises ``NotFound`` or ``Invalid`` where there is no such log."""
        params = {"container": CONTAINER} | ({"tailLines": str(tail)} if tail is not None else {})
        if previous:
            params["previous"] = "true"
        async with self.resources.transport.lines(self._path, params=params, silence=SILENCE) as lines:
            async for line in lines:
                yield _text(line)

    async def follow(self, *, tail: int | None = None) -> AsyncIterator[str]:
        """What was written and what is written, until the container has ended or its pod is deleted."""
        point = _ResumePoint()
        backoff = Backoff(RESUME_PAUSE, LONGEST_PAUSE, SystemRandom())
        over = False  # checked before a stream is opened: nothing is written after the end
        while True:
            params = {"container": CONTAINER, "follow": "true", "timestamps": "true", **point.resume(tail)}
            broken = False
            try:
                async with self.resources.transport.lines(self._path, params=params, silence=math.inf) as lines:
                    async for line in lines:
                        backoff.reset()
                        if point.new(line):
                            yield _text(line.partition(b" ")[2])
            except NotFound:
                return
            except Invalid:
                pass  # the container waits to start
            except ApiError as error:
                if error.status and error.status < 500:
                    raise
                broken = True
            if over and not broken:
                return
            over = await self._ended()
            if broken or not over:
                await self.sleep(backoff.delay() if broken else RESUME_PAUSE)

    async def member(self) -> Member | None:
        """The member of the pod, None if the pod is deleted."""
        try:
            return member_of(await self.resources.get(core(self.namespace, "pods", self.pod)))
        except NotFound:
            return None

    async def _ended(self) -> bool:
        with contextlib.suppress(ApiError):
            member = await self.member()
            return member is None or member.phase in ("Succeeded", "Failed") or (member.started and not member.running)
        return False

    @property
    def _path(self) -> str:
        return f"{core(self.namespace, 'pods', self.pod)}/log"


class _ResumePoint:
    """How far a log has been delivered: the time of the last line, and the number of lines with that time."""

    def __init__(self) -> None:
        self._last = ""
        self._stamp = ""
        self._count = 0
        self._repeated = 0

    def resume(self, tail: int | None) -> dict[str, str]:
        """Query parameters to resume from here; the server repeats the lines of the last whole second."""
        self._repeated = 0
        if self._last:
            return {"sinceTime": self._stamp.partition(".")[0].rstrip("Z") + "Z"}
        return {} if tail is None else {"tailLines": str(tail)}

    def new(self, line: bytes) -> bool:
        """Whether this line was not delivered yet; it counts as delivered from now on."""
        stamp = line.partition(b" ")[0].decode("ascii", "replace")
        at = _sortable(stamp)
        if at < self._last:
            return False
        if at > self._last:
            self._last, self._stamp, self._count, self._repeated = at, stamp, 1, 1
            return True
        self._repeated += 1
        if self._repeated <= self._count:
            return False
        self._count = self._repeated
        return True


def _sortable(stamp: str) -> str:
    """An RFC 3339 time in UTC with nine digits of a second: such texts sort by time."""
    seconds, _, fraction = stamp.rstrip("Z").partition(".")
    return f"{seconds}.{fraction:0<9}"


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r")
