"""The prober of one JAX coordinator.

It reads the task list in two ways, used together. `snapshot` asks for the current list and shows that the coordinator
answers. `changes` keeps one call parked at the coordinator (jaxlib 0.10 on) and so receives each change at once; this
is the only reliable way to get the last error text before process 0 exits. Both yield a `RollAnswer` in every case.

When the connection is lost, the port is checked without gRPC (`port_check`): the error of a call has too little detail.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from muster.api.progress import KEYS
from muster.api.values.printable import printable
from muster.state.view.progress import StepReport
from muster.state.view.roll import CoordinatorState, RankState, RollAnswer
from muster.watchers.probes.bounded.channel import Channel
from muster.watchers.probes.bounded.connection import Address, PortState, in_turns, loop_time
from muster.watchers.probes.bounded.grpc import NoAnswer, Status
from muster.watchers.probes.jax.places import PlaceReader
from muster.watchers.probes.jax.port_check import check_port
from muster.watchers.probes.jax.rpc import LISTING, Generation, Malformed, Method, Question, Seen, send
from muster.watchers.probes.jax.task_list import (
    MAX_TEXT,
    RollReader,
    TaskReading,
    entries_in_turns,
    most_tasks,
    read_mismatch,
    summary,
)
from muster.watchers.probes.reports import Paced, ReportReader

T = TypeVar("T")

_CALM = 1.0
"""Seconds: a call that was parked for longer than this ended with an isolated change."""
_PAUSE_CALM = 0.2
"""Seconds until the next call after such a change: after a failure process 0 exits within this time."""
_PAUSE_BUSY = 1.0
"""Seconds until the next call after one of many changes: a thousand arrivals need not be a thousand answers."""
_SNAPSHOT_DEADLINES = 3
"""Deadlines that a whole snapshot may take, all its calls together."""
_MISSES = 3
"""Consecutive calls that exceed the deadline although the port speaks HTTP/2, before a new connection is opened."""
_HANDSHAKES = 3
_UNREACHED = frozenset({Status.UNAVAILABLE, Status.DEADLINE_EXCEEDED, Status.CANCELLED})


class JaxProbe:
    """The probe that asks the coordinator at `address` ("ip:port", the pod IP) which ranks have arrived.

    `clock` gives wall-clock seconds, for `RollAnswer.at`. `expected` is the number of processes of the experiment; a
    coordinator that was started with another number is named in the answer's detail. `deadline` bounds a call, in
    seconds; a whole snapshot takes at most three times that. Raises ValueError for an invalid address.
    """

    def __init__(
        self, address: str, *, clock: Callable[[], float], expected: int | None = None, deadline: float = 2.0
    ) -> None:
        self._address = Address.parse(address)
        self._clock = clock
        self._expected = expected
        self._deadline = deadline
        self._channel = Channel(self._address, expected)
        self._generation: Generation | None = None
        """The generation that answered last; None if another process may answer, which may have another jaxlib."""
        self._reader = self._new_reader()
        self._reports = ReportReader(expected, most_tasks(expected))
        self._places = PlaceReader(expected)
        self._finished: int | None = None
        self._misses = 0
        self._turn = asyncio.Lock()

    async def snapshot(self) -> RollAnswer:
        """Ask the coordinator once. Raises nothing, whatever the network or the coordinator does."""
        async with self._turn:
            started = loop_time()
            try:
                async with asyncio.timeout(self._deadline * _SNAPSHOT_DEADLINES):
                    connected = self._channel.connected
                    found = await self._once()
                    broke = connected and not self._channel.connected
                    if broke and isinstance(found, PortState) and found.state is CoordinatorState.TIMEOUT:
                        # The connection broke but the port is open: the coordinator has restarted, so ask the new one.
                        found = await self._once()
            except TimeoutError:
                found = PortState(CoordinatorState.TIMEOUT, "each call is answered, but too slowly")
            if isinstance(found, PortState):
                return self._unanswered(started, found)
            reports = await self._published(found, self._reports, self._read_reports)
            places = await self._published(found, self._places, partial(self._places.read, self._stored))
            stacks = self._places.stacks if places is not None else ()
            return replace(found, reports=reports, places=places, stacks=stacks)

    def read_now(self) -> None:
        """Read the reports of the ranks with the next snapshot, whatever the pace is."""
        self._reports.read_now()

    async def changes(self) -> AsyncGenerator[RollAnswer, None]:
        """Yield each change that the coordinator reports after the version that this probe saw last.

        One call at a time is parked at the coordinator. Ends when the coordinator is unreachable (with an answer that
        has the reason), when it cannot report changes (before jaxlib 0.10), and for good once a rank has left: a call
        that is parked while process 0 shuts down delays its exit by five seconds. Call it again after a snapshot that
        shows the coordinator serving; if ranks have left, it ends at once.
        """
        if self._reader.seen is None:
            yield await self.snapshot()
        while (seen := self._since()) is not None:
            started, reader = loop_time(), self._reader
            try:
                body = await send(self._channel, Question(Method.V2_WATCH_TASKS, seen.incarnation, seen))
                if self._reader is not reader:
                    continue  # meanwhile a snapshot has found a newer coordinator
                answer = await self._read(body, Generation.V2, reader, 0.0)
            except NoAnswer as error:
                if self._channel.closed:
                    return
                if _mismatch(error) is None:
                    yield self._unanswered(started, await self._explain(error))
                    return
                answer = await self.snapshot()
            except Malformed as error:
                yield self._unanswered(started, _unreadable(error))
                return
            yield answer
            await asyncio.sleep(_PAUSE_CALM if loop_time() - started > _CALM else _PAUSE_BUSY)

    async def close(self) -> None:
        """Close the connection and the parked call together, which costs process 0 the least."""
        await self._channel.close()

    async def _once(self) -> RollAnswer | PortState:
        try:
            port = await self._reach()
            return port if port is not None else await self._ask()
        except NoAnswer as error:
            return await self._explain(error)
        except Malformed as error:
            return _unreadable(error)

    async def _reach(self) -> PortState | None:
        """Return None if there is a connection or the port speaks HTTP/2, else the state of the port.

        Raises `NoAnswer` while the coordinator is not asked because of what it sent.
        """
        if self._channel.connected:
            return None
        self._channel.check()
        self._generation = None
        port = await check_port(self._address, self._deadline)
        if port.state is not CoordinatorState.SERVING:
            return port
        await self._channel.renew()
        return None

    async def _ask(self) -> RollAnswer:
        """Try the generation that answered last, then the others from the newest on. Raises `NoAnswer`, `Malformed`."""
        refusal = NoAnswer(Status.UNIMPLEMENTED, "")
        for generation in sorted(Generation, key=lambda each: each is not self._generation):
            started = loop_time()
            try:
                if generation is Generation.V2:
                    body, reader = await self._ask_by_incarnation(Method.V2_WATCH_TASKS)
                else:
                    body = await send(self._channel, Question(LISTING[generation]), self._deadline)
                    reader = self._reader if generation is self._generation else self._new_reader()
            except NoAnswer as error:
                if error.code is not Status.UNIMPLEMENTED:
                    raise
                refusal = error
                continue
            self._generation = generation
            self._reader = reader
            return await self._read(body, generation, reader, loop_time() - started)
        self._generation = None
        raise refusal

    async def _ask_by_incarnation(self, method: Method, key: str = "") -> tuple[bytes, RollReader]:
        """Send a v2 call to the current coordinator; learn its incarnation from its refusal if necessary.

        Returns the reader of the incarnation that answered: a version is only valid within its incarnation.
        """
        for _ in range(_HANDSHAKES):
            reader = self._reader
            try:
                return await send(
                    self._channel, Question(method, reader.incarnation or 0, key=key), self._deadline
                ), reader
            except NoAnswer as error:
                incarnation = _mismatch(error)
                if incarnation is None:
                    raise
                if incarnation != self._reader.incarnation:
                    self._reader = self._new_reader(incarnation)
        raise Malformed("the coordinator refuses the incarnation that it names")

    def _new_reader(self, incarnation: int | None = None) -> RollReader:
        return RollReader(incarnation, most=most_tasks(self._expected))

    async def _read(self, body: bytes, generation: Generation, reader: RollReader, latency: float) -> RollAnswer:
        return self._answer(await reader.take(body, generation), generation, reader, latency)

    def _answer(self, reading: TaskReading, generation: Generation, reader: RollReader, latency: float) -> RollAnswer:
        self._misses = 0
        answer = RollAnswer(
            at=self._clock(),
            coordinator=CoordinatorState.SERVING,
            latency=latency,
            detail=summary(reading, self._expected)[:MAX_TEXT],
            expected=reading.expected,
            states=reading.ranks,
            partial=generation.partial,
            errors=reading.errors,
            incarnation=reader.incarnation,
            protocol=generation.value,
        )
        if answer.left:
            self._finished = reader.incarnation
        return answer

    def _since(self) -> Seen | None:
        """Return the version to wait from; None if no call may be parked."""
        if self._channel.closed or self._generation is not Generation.V2 or self._reader.incarnation == self._finished:
            return None
        return self._reader.seen

    async def _explain(self, error: NoAnswer) -> PortState:
        """Return the state of the port after a call without an answer, from the error and a check of the port."""
        detail = printable(error.text, 300)
        if error.excess:
            return PortState(CoordinatorState.OTHER_PROTOCOL, detail)
        if error.code is Status.UNIMPLEMENTED:
            return PortState(CoordinatorState.OTHER_PROTOCOL, "a gRPC server that is no JAX coordinator")
        if error.code not in _UNREACHED:
            return PortState(CoordinatorState.OTHER_PROTOCOL, f"the call was refused: {error.code.name}: {detail}")
        port = await check_port(self._address, self._deadline)
        if port.state is not CoordinatorState.SERVING:
            return port
        if error.code is Status.DEADLINE_EXCEEDED:
            self._generation = None
            self._misses += 1
            if self._misses >= _MISSES:
                self._misses = 0
                await self._channel.renew()
        return PortState(
            CoordinatorState.TIMEOUT, f"speaks HTTP/2, but the call got no answer: {error.code.name}: {detail}"
        )

    def _unanswered(self, started: float, port: PortState) -> RollAnswer:
        latency = loop_time() - started
        return RollAnswer(
            at=self._clock(), coordinator=port.state, latency=latency, detail=printable(port.detail, MAX_TEXT)
        )

    async def _published(
        self, answer: RollAnswer, pace: Paced[Any], read: Callable[[], Awaitable[tuple[T, ...]]]
    ) -> tuple[T, ...] | None:
        """Return what the ranks publish, if it is time to ask for it."""
        began = loop_time()
        if not _at_work(answer) or not pace.due(began):
            return None
        try:
            async with asyncio.timeout(self._deadline):
                return await read()
        except (NoAnswer, Malformed, TimeoutError):
            return None  # the roll is known in any case; the next look shows whether the coordinator answers
        finally:
            pace.took(began, loop_time())

    async def _read_reports(self) -> tuple[StepReport, ...]:
        stored = await self._stored(KEYS, True)
        entries = await in_turns(entries_in_turns(stored, 2, most_tasks(self._expected)))
        return await in_turns(self._reports.read_in_turns(entries))

    async def _stored(self, key: str, directory: bool) -> bytes:
        """Return the raw answer to a key-value call. Raises `NoAnswer`, `Malformed`."""
        if self._generation is None:
            raise NoAnswer(Status.UNAVAILABLE, "no protocol has been negotiated yet")
        if self._generation is Generation.V2:
            method = Method.V2_GET_KEY_VALUE_DIR if directory else Method.V2_TRY_GET_KEY_VALUE
            return (await self._ask_by_incarnation(method, key))[0]
        method = Method.V1_GET_KEY_VALUE_DIR if directory else Method.V1_TRY_GET_KEY_VALUE
        return await send(self._channel, Question(method, key=key), self._deadline)


def _at_work(answer: RollAnswer) -> bool:
    """Return True if all ranks are past the rendezvous, and none has left.

    Before the rendezvous no program can report, and process 0 has most to do; a partial roll shows rank 0 only.
    """
    return not (answer.missing or RankState.ARRIVED in answer.states or answer.left)


def _mismatch(error: NoAnswer) -> int | None:
    if error.code is not Status.INTERNAL:
        return None
    return read_mismatch(error.text, error.status_details)


def _unreadable(error: Malformed) -> PortState:
    return PortState(CoordinatorState.OTHER_PROTOCOL, f"the answer cannot be read: {error}")
