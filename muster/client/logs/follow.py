"""The log of a gang as it is written, over gang restarts, until the experiment has finished.

What was written before is merged by time; from then on lines come as they arrive. At most ``at_once`` ranks are
followed, each with one stream: the lowest of the chosen ones, so that it is known beforehand which they are.
"""

import asyncio
import contextlib
from typing import NamedTuple

from muster.api.errors import Unreachable
from muster.client.logs.gang_log import GangLog, line_of
from muster.client.logs.lines import Lines, LogLine, LogNote, LogStart
from muster.client.logs.pod_log import PodLog
from muster.client.member import Member, member_of, members_of
from muster.client.snapshot import Snapshot, snapshot_of
from muster.client.subjects import collection_path
from muster.kube.listwatch.informer import changes
from muster.kube.paths import core

WAITING_LINES = 100
"""Lines that are buffered for a slow reader; beyond that, the streams wait."""
DRAIN = 5.0
"""Seconds that the stream of a rank's earlier pod gets to deliver its last lines before the next pod is followed."""


class _Stream(NamedTuple):
    pod: str
    epoch: int
    task: asyncio.Task[None]


class FollowedLog:
    """Follows ``log``. Use once."""

    def __init__(self, log: GangLog) -> None:
        self._log = log
        self._seen = log.seen
        self._queue = asyncio.Queue[LogLine | BaseException | None](WAITING_LINES)
        self._streams: dict[int, _Stream] = {}
        self._read: dict[str, PodLog] = {}
        self._left_out_noted = False
        self._from_epoch = 0

    async def lines(self) -> Lines:
        """Yield the lines written so far, and those written until the experiment has finished."""
        self._note_left_out(self._seen)
        async with contextlib.aclosing(await self._until_now()) as written:
            async for line in written:
                yield line
        name = self._seen.name
        tasks = [
            asyncio.create_task(self._pods(), name=f"log-pods/{name}"),
            asyncio.create_task(self._end(), name=f"log-end/{name}"),
        ]
        try:
            while (entry := await self._queue.get()) is not None:
                if isinstance(entry, BaseException):
                    raise entry
                yield entry
        finally:
            every = [*tasks, *(stream.task for stream in self._streams.values())]
            for task in every:
                task.cancel()
            await asyncio.gather(*every, return_exceptions=True)

    async def _until_now(self) -> Lines:
        log = self._log
        members = await log.members()
        self._from_epoch = max((member.epoch for member in members), default=0)
        found = {rank: m for rank, m in log.of_epoch(members).items() if self._followed(m)}
        started = [member for member in found.values() if member.started]
        if found:
            log.note_absent(found, self._chosen(self._seen)[: log.choice.at_once])
        self._read = {member.uid: log.log_of(member) for member in started}
        return log.merge([(member, self._read[member.uid]) for member in started])

    def _chosen(self, seen: Snapshot) -> list[int]:
        return sorted(self._log.choice.ranks or range(seen.status.size))

    def _followed(self, member: Member) -> bool:
        """Return whether its rank is one of the lowest; it may be known before the size of the gang is."""
        choice = self._log.choice
        return member.rank in (sorted(choice.ranks) or range(choice.at_once))[: choice.at_once]

    def _note_left_out(self, seen: Snapshot) -> None:
        """Name the ranks that are not followed, once the size of the gang is known."""
        at_once = self._log.choice.at_once
        left_out = tuple(self._chosen(seen)[at_once:])
        if left_out and not self._left_out_noted:
            self._left_out_noted = True
            limit = f"at most {at_once} logs are followed at once"
            why = f"not followed: {limit}; --rank chooses others, --at-once raises it"
            self._log.noted(LogNote(left_out, why))

    async def _pods(self) -> None:
        stream = changes(self._log.resources.transport, core(self._seen.namespace, "pods"), members_of(self._seen.uid))
        try:
            async with contextlib.aclosing(stream):
                async for change in stream:
                    if change.kind != "DELETED":
                        self._start_stream(member_of(change.object))
        except Exception as error:  # noqa: BLE001 - raised in the reader
            await self._queue.put(error)

    async def _end(self) -> None:
        """End the log once the experiment has finished and the last line of every pod was delivered."""
        chosen = {"fieldSelector": f"metadata.name={self._seen.own_name}"}
        stream = changes(
            self._log.resources.transport, collection_path(self._seen.namespace, self._seen.subject), chosen
        )
        try:
            async with contextlib.aclosing(stream):
                async for change in stream:
                    seen = snapshot_of(change.object)
                    if change.kind == "DELETED" or seen.uid != self._seen.uid or seen.finished:
                        break
                    self._note_left_out(seen)
            for member in await self._log.members():
                self._start_stream(member)
            await asyncio.gather(*(stream.task for stream in self._streams.values()), return_exceptions=True)
            await self._queue.put(None)
        except Exception as error:  # noqa: BLE001 - raised in the reader
            await self._queue.put(error)

    def _start_stream(self, member: Member) -> None:
        """Follow a pod whose container has started, after the rank's pod of an earlier epoch."""
        before = self._streams.get(member.rank)
        if not member.started or not self._followed(member) or member.epoch < self._from_epoch:
            return
        if before is not None and (before.pod == member.pod or before.epoch > member.epoch):
            return
        work = self._stream(member, before.task if before else None)
        task = asyncio.create_task(work, name=f"log/{member.pod}")
        self._streams[member.rank] = _Stream(member.pod, member.epoch, task)

    async def _stream(self, member: Member, before: asyncio.Task[None] | None) -> None:
        try:
            if before is not None:
                await asyncio.wait({before}, timeout=DRAIN)
                before.cancel()
                await asyncio.gather(before, return_exceptions=True)
            log = self._read.pop(member.uid, None)
            start = self._log.choice.start if log is not None else LogStart()  # a later pod is read from its beginning
            async with contextlib.aclosing((log or self._log.log_of(member)).follow(start)) as lines:
                async for stamped in lines:
                    await self._queue.put(line_of(member, stamped))
        except Unreachable as error:  # the other errors of a connection are tried again
            self._log.noted(LogNote((member.rank,), f"read no further: {error.message}", failed=True))
        except Exception as error:  # noqa: BLE001 - raised in the reader
            await self._queue.put(error)
