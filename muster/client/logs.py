"""The log of a gang: the lines of all ranks or of some, each with its rank.

A followed log continues over gang restarts: the pods of a new epoch are added as their containers start. It ends when
the experiment has finished and every line of its pods was delivered.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Collection, Iterable
from dataclasses import dataclass, field

from muster.api.errors import Invalid, NotFound
from muster.client.errors import LogsGone, NoSuchRank
from muster.client.member import Member, member_of, members_of
from muster.client.podlog import PodLog
from muster.client.snapshot import experiments_path, snapshot_of
from muster.kube.listwatch.changes import changes
from muster.kube.paths import core
from muster.kube.resources import ResourceClient

RankLine = tuple[int, str]
WAITING_LINES = 1000
"""Lines that are buffered for a slow reader; beyond that, the streams wait."""


def newest(members: Iterable[Member]) -> dict[int, Member]:
    """The latest epoch's member per rank, in rank order."""
    best: dict[int, Member] = {}
    for member in members:
        held = best.get(member.rank)
        if held is None or (held.epoch, held.terminating) < (member.epoch, not member.terminating):
            best[member.rank] = member
    return dict(sorted(best.items()))


@dataclass(slots=True)
class GangLog:
    """The log of the experiment ``name`` with that uid. ``ranks`` limits it; empty means all."""

    resources: ResourceClient
    namespace: str
    name: str
    uid: str
    ranks: Collection[int] = ()
    tail: int | None = None
    _queue: asyncio.Queue[RankLine | BaseException | None] = field(default_factory=lambda: asyncio.Queue(WAITING_LINES))
    _streams: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def read(self) -> AsyncGenerator[RankLine, None]:
        """What was written until now, rank by rank. Raises ``NoSuchRank`` if no container has started."""
        chosen = [m for m in newest(await self._members()).values() if self._selected(m)]
        started = [member for member in chosen if member.started]
        if not started:
            raise NoSuchRank(self._no_log_reason(chosen))
        for member in started:
            with contextlib.suppress(NotFound):
                async for line in self._log(member).read(tail=self.tail):
                    yield member.rank, line

    async def previous(self) -> AsyncGenerator[RankLine, None]:
        """What was written in the previous epoch, as far as it is kept. Raises ``LogsGone`` if it is not."""
        members = await self._members()
        current = {rank: member.epoch for rank, member in newest(members).items()}
        older = newest(m for m in members if m.epoch < current[m.rank])
        read = False
        for rank, member in newest(members).items():
            if not self._selected(member):
                continue
            log = self._log(older.get(rank, member))
            with contextlib.suppress(NotFound, Invalid):
                async for line in log.read(tail=self.tail, previous=rank not in older):
                    read = True
                    yield rank, line
        if not read:
            raise LogsGone(
                f"experiment {self.namespace}/{self.name}: no log of an earlier epoch is kept: its pods are gone, and "
                f"Kubernetes drops a log with its pod; `muster explain {self.name}` says how that epoch ended"
            )

    async def follow(self) -> AsyncGenerator[RankLine, None]:
        """What was written and what is written until the experiment has finished."""
        tasks = [
            asyncio.create_task(self._pods(), name=f"log-pods/{self.name}"),
            asyncio.create_task(self._end(), name=f"log-end/{self.name}"),
        ]
        try:
            while (entry := await self._queue.get()) is not None:
                if isinstance(entry, BaseException):
                    raise entry
                yield entry
        finally:
            every = [*tasks, *self._streams.values()]
            for task in every:
                task.cancel()
            await asyncio.gather(*every, return_exceptions=True)

    async def _pods(self) -> None:
        stream = changes(self.resources.transport, core(self.namespace, "pods"), members_of(self.uid))
        try:
            async with contextlib.aclosing(stream):
                async for change in stream:
                    if change.kind != "DELETED":
                        self._start_stream(member_of(change.object))
        except Exception as error:  # noqa: BLE001 - raised in the reader
            await self._queue.put(error)

    async def _end(self) -> None:
        """End the log once the experiment has finished and the last line of every pod was delivered."""
        chosen = {"fieldSelector": f"metadata.name={self.name}"}
        stream = changes(self.resources.transport, experiments_path(self.namespace), chosen)
        try:
            async with contextlib.aclosing(stream):
                async for change in stream:
                    seen = snapshot_of(change.object)
                    if change.kind == "DELETED" or seen.uid != self.uid or seen.finished:
                        break
            for member in await self._members():
                self._start_stream(member)
            await asyncio.gather(*self._streams.values(), return_exceptions=True)
            await self._queue.put(None)
        except Exception as error:  # noqa: BLE001 - raised in the reader
            await self._queue.put(error)

    def _start_stream(self, member: Member) -> None:
        if member.uid in self._streams or not member.started or not self._selected(member):
            return
        self._streams[member.uid] = asyncio.create_task(self._stream(member), name=f"log/{member.pod}")

    async def _stream(self, member: Member) -> None:
        try:
            async for line in self._log(member).follow(tail=self.tail):
                await self._queue.put((member.rank, line))
        except Exception as error:  # noqa: BLE001 - raised in the reader
            await self._queue.put(error)

    async def _members(self) -> list[Member]:
        pods = await self.resources.list(core(self.namespace, "pods"), members_of(self.uid))
        return [member_of(pod) for pod in pods]

    def _log(self, member: Member) -> PodLog:
        return PodLog(self.resources, self.namespace, member.pod)

    def _selected(self, member: Member) -> bool:
        return member.rank >= 0 and (not self.ranks or member.rank in self.ranks)

    def _no_log_reason(self, chosen: list[Member]) -> str:
        who = f"experiment {self.namespace}/{self.name}"
        if chosen:
            first = chosen[0]
            why = f": {first.why}" if first.why else ""
            return f"{who}: nothing is logged yet: rank {first.rank} ({first.pod}) is {first.state}{why}"
        ranks = ", ".join(map(str, self.ranks))
        what = f"rank {ranks} has no pod" if self.ranks else "it has no pods"
        return f"{who}: {what} now; `muster get {self.name}` shows its members, `muster explain {self.name}` says why"
