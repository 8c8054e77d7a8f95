"""The log of a gang: the lines of all ranks or of some, merged by time, and then as they are written."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import NamedTuple

from muster.api.errors import ApiError, Forbidden, Invalid, NotFound, Unreachable
from muster.api.values.rank_ranges import from_ranges
from muster.client.errors import LogsGone, NoSuchRank
from muster.client.logs.pod_log import Lines, LogLine, LogNote, LogStart, PodLog, Stamped, log_of, merged
from muster.client.member import Member, member_of, members_of, read_members
from muster.client.snapshot import Snapshot, snapshot_of
from muster.client.subjects import collection_path
from muster.kube.cancellation import cancel_and_wait
from muster.kube.listwatch.informer import changes
from muster.kube.resources import ResourceClient, core

AT_ONCE = 50
"""Logs that are read at the same time, each over a connection of its own."""

Noted = Callable[[LogNote], None]


@dataclass(frozen=True, slots=True)
class LogChoice:
    """Choice of lines: their ranks (empty: all), their epoch (None: the latest), and the start of each log.

    ``at_once`` logs are read at the same time.
    """

    ranks: Collection[int] = ()
    epoch: int | None = None
    start: LogStart = field(default_factory=LogStart)
    at_once: int = AT_ONCE

    def chosen(self, rank: int) -> bool:
        """Return True if the log of that rank is wanted."""
        return rank >= 0 and (not self.ranks or rank in self.ranks)


def newest(members: Iterable[Member]) -> dict[int, Member]:
    """Return the latest life of each rank, by epoch and attempt, in rank order."""
    best: dict[int, Member] = {}
    for member in members:
        held = best.get(member.rank)
        life = member.epoch, member.attempt
        if held is None or (held.epoch, held.attempt, not held.terminating) < (*life, not member.terminating):
            best[member.rank] = member
    return dict(sorted(best.items()))


def _earlier(members: Collection[Member], current: dict[int, Member]) -> list[Member]:
    """Return the members of earlier epochs, and of earlier attempts of the latest one."""
    latest = max((member.epoch for member in members), default=0)
    return [
        member
        for member in members
        if member.epoch < latest or (member.rank in current and member.attempt < current[member.rank].attempt)
    ]


class GangLog:
    """The log of the experiment ``seen``. ``noted`` is called with whatever is not read, and why."""

    def __init__(self, resources: ResourceClient, seen: Snapshot, choice: LogChoice, noted: Noted) -> None:
        self.resources = resources
        self.seen = seen
        self.choice = choice
        self.noted = noted

    async def read(self) -> AsyncGenerator[LogLine, None]:
        """Yield the lines written until now.

        Raises ``NoSuchRank`` if no container has started, ``LogsGone`` for an epoch without pods.
        """
        of_epoch = self.of_epoch(await self.members())
        started = [member for member in of_epoch.values() if member.started]
        if not started:
            raise self._no_log(of_epoch)
        self.note_absent(of_epoch, sorted(self.choice.ranks or range(self.seen.status.size)))
        async with aclosing(self.merge([(member, self.log_of(member)) for member in started])) as lines:
            async for line in lines:
                yield line

    async def previous(self) -> AsyncGenerator[LogLine, None]:
        """Yield the lines of each rank's life before this one: its previous attempt, or else the previous epoch.

        As far as the pods are kept. Raises ``LogsGone`` if none is.
        """
        members = await self.members()
        current = newest(members)
        older = newest(_earlier(members, current))
        chosen = {rank: older.get(rank, member) for rank, member in current.items()}
        sources = [(member, self.log_of(member)) for rank, member in chosen.items() if self.choice.chosen(rank)]
        if older and (absent := sorted(rank for rank in chosen if rank not in older and self.choice.chosen(rank))):
            self.noted(LogNote(tuple(absent), "no pod of an earlier epoch or attempt is kept"))
        read = False
        async with aclosing(self.merge(sources, restarted=frozenset(chosen) - frozenset(older))) as lines:
            async for line in lines:
                read = True
                yield line
        if not read and not any(map(self.choice.chosen, older)):
            raise self._gone("of an earlier epoch or attempt")

    async def members(self) -> list[Member]:
        """Return the members that have a pod, of every epoch."""
        if self.seen.watched is not None:
            return list(self.seen.watched.with_pods().all_members)
        return await read_members(self.resources, self.seen.namespace, self.seen.uid)

    def of_epoch(self, members: Collection[Member]) -> dict[int, Member]:
        """Return the chosen ranks' members of the epoch that is read. Raises ``LogsGone`` if that epoch has no pods."""
        epoch = self.choice.epoch
        if epoch is None:
            epoch = max((member.epoch for member in members), default=0)
        elif all(member.epoch != epoch for member in members):
            latest = self.seen.status.epoch_begun
            if self.seen.watched is not None or not self.seen.phase:
                raise LogsGone(f"{self.seen.who}: no pod of epoch {epoch} exists")
            if epoch > latest:
                raise LogsGone(f"{self.seen.who}: epoch {epoch} has not begun: epoch {latest} is the latest")
            raise self._gone(f"of epoch {epoch}")
        return newest(m for m in members if m.epoch == epoch and self.choice.chosen(m.rank))

    def log_of(self, member: Member) -> PodLog:
        """Return the log of a member's pod."""
        return log_of(self.resources, self.seen.namespace, member)

    def merge(self, sources: Collection[tuple[Member, PodLog]], *, restarted: Collection[int] = ()) -> Lines:
        """Return the logs until now by time. A rank in ``restarted`` has the log of its container's previous run."""
        size, at_once = len(sources), self.choice.at_once
        if size > at_once:
            ranks = tuple(sorted(member.rank for member, _ in sources))
            self.noted(LogNote(ranks, f"{size} logs are read, {at_once} at a time, before the first line is printed"))
        return merged([self._read(member, log, member.rank in restarted) for member, log in sources], at_once)

    async def _read(self, member: Member, log: PodLog, previous: bool) -> Lines:
        try:
            async with aclosing(log.read(self.choice.start, previous=previous)) as lines:
                async for stamped in lines:
                    yield line_of(member, stamped)
        except NotFound:
            self.noted(LogNote((member.rank,), f"its pod {member.pod} is gone, and its log with it"))
        except Invalid as error:
            if not previous:  # a container that was never restarted has no previous run
                self.noted(LogNote((member.rank,), error.message))
        except Forbidden:
            raise
        except ApiError as error:  # a node that is down keeps no other rank's log from being read
            self.noted(LogNote((member.rank,), f"cannot be read: {error.message}", failed=True))

    def note_absent(self, found: dict[int, Member], ranks: Iterable[int]) -> None:
        """Report why some of ``ranks`` have no log, each reason once."""
        reasons: dict[str, list[int]] = {}
        done = frozenset(from_ranges(self.seen.status.completed, self.seen.status.size))
        for rank in ranks:
            member = found.get(rank)
            if member is None or not member.started:
                reasons.setdefault(_why(member, rank in done), []).append(rank)
        for why, absent in reasons.items():
            self.noted(LogNote(tuple(absent), why))

    def _no_log(self, found: dict[int, Member]) -> NoSuchRank:
        run, who = f"{self.seen.name} -n {self.seen.namespace}", self.seen.who
        if found:
            first = next(iter(found.values()))
            why = f": {first.why}" if first.why else ""
            return NoSuchRank(f"{who}: nothing is logged yet: rank {first.rank} ({first.pod}) is {first.state}{why}")
        ranks, size = ", ".join(map(str, sorted(self.choice.ranks))), self.seen.status.size
        if self.choice.ranks and size and min(self.choice.ranks) >= size:
            return NoSuchRank(f"{who}: there is no rank {ranks}: it has {size}, counted from 0")
        what = f"rank {ranks} has no pod" if self.choice.ranks else "it has no pods"
        return NoSuchRank(f"{who}: {what} now; `muster get {run}` shows its members, `muster explain {run}` why")

    def _gone(self, what: str) -> LogsGone:
        return LogsGone(
            f"{self.seen.who}: no log {what} is kept: its pods are gone, and Kubernetes drops a log with its pod; "
            f"`muster explain {self.seen.name} -n {self.seen.namespace}` shows how that epoch ended"
        )


def _why(member: Member | None, done: bool) -> str:
    if member is None:
        return "it has succeeded, and its pod is gone" if done else "there is no pod"
    return f"nothing is logged yet: {member.state}" + (f": {member.why}" if member.why else "")


def line_of(member: Member, stamped: Stamped) -> LogLine:
    """Return a line of that member."""
    return LogLine(member.rank, stamped[1], member.group, member.epoch, member.pod, stamped[0])


WAITING_LINES = 100
"""Lines that are buffered for a slow reader; beyond that, the streams wait."""
DRAIN = 5.0
"""Seconds that the stream of a rank's earlier pod gets to deliver its last lines before the next pod is followed."""


class _Stream(NamedTuple):
    pod: str
    epoch: int
    task: asyncio.Task[None]


class FollowedLog:
    """Follows ``log`` over gang restarts, until the experiment has finished. Use once.

    What was written before is merged by time; from then on lines come as they arrive. At most ``at_once`` ranks are
    followed, each with one stream: the lowest of the chosen ones, so that it is known beforehand which they are.
    """

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
        async with aclosing(await self._until_now()) as written:
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
            await cancel_and_wait(*tasks, *(stream.task for stream in self._streams.values()))

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
            why = f"at most {at_once} logs are followed at once; --rank chooses others, --at-once raises it"
            self._log.noted(LogNote(left_out, f"not followed: {why}"))

    async def _pods(self) -> None:
        stream = changes(self._log.resources.transport, core(self._seen.namespace, "pods"), members_of(self._seen.uid))
        try:
            async with aclosing(stream):
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
            async with aclosing(stream):
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
                await cancel_and_wait(before)
            log = self._read.pop(member.uid, None)
            start = self._log.choice.start if log is not None else LogStart()  # a later pod is read from its beginning
            async with aclosing((log or self._log.log_of(member)).follow(start)) as lines:
                async for stamped in lines:
                    await self._queue.put(line_of(member, stamped))
        except Unreachable as error:  # the other errors of a connection are tried again
            self._log.noted(LogNote((member.rank,), f"read no further: {error.message}", failed=True))
        except Exception as error:  # noqa: BLE001 - raised in the reader
            await self._queue.put(error)
