"""The prober of one JAX coordinator.

Two ways to look, used together. `snapshot` asks for the list as it is and is the check that the coordinator lives.
`changes` keeps one question parked at the coordinator (jaxlib 0.10 on) and so learns of each change at once, which is
the only reliable way to get the last error text before process 0 is gone. Both end in a `RollAnswer` whatever
happens.

When the connection is lost, the port is looked at without gRPC (`classify`), since gRPC's own error says too little,
and its back-off would hide a coordinator that has come back.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable

import grpc

from muster.api.values.printable import printable
from muster.state.roll import CoordinatorState, RollAnswer
from muster.watchers.probes.jax.channel import Channel
from muster.watchers.probes.jax.generations import Generation, ProtocolNegotiation
from muster.watchers.probes.jax.port_check import Address, PortState, look
from muster.watchers.probes.jax.protobuf import Malformed
from muster.watchers.probes.jax.rpc import Method, NoAnswer, Question, Seen, send
from muster.watchers.probes.jax.task_list import MAX_TEXT, Life, read_entries, read_mismatch, summary

PREEMPTION_KEY = "RECEIVED_PREEMPTION_NOTICE"
"""Set by jax's preemption service, with the time as value, once any process got SIGTERM."""

_CALM = 1.0
"""Seconds: a question that was parked for longer than this was answered by a change out of the blue."""
_PAUSE_CALM = 0.2
"""Seconds until the next question after such a change: after a failure process 0 lives no longer than this."""
_PAUSE_BUSY = 1.0
"""The same after a change in a series: a thousand arrivals need not be a thousand answers."""
_PATIENCE = 3
"""Deadlines a whole snapshot may take, however slowly each of its parts is answered."""
_MISSES = 3
"""Calls in a row that run into the deadline although the port speaks HTTP/2, before a new connection is tried."""
_HANDSHAKES = 3
_UNREACHED = frozenset(
    {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED},
)


class JaxProbe:
    """Asks the coordinator at `address` ("ip:port", the pod IP) who has arrived.

    `clock` gives wall-clock seconds, for `RollAnswer.at`. `expected` is the number of processes the experiment has; a
    coordinator that was told another is named in the answer's detail. `deadline` bounds a call, in seconds; a whole
    snapshot takes at most three times that. Raises ValueError for an address that is none.
    """

    def __init__(
        self, address: str, *, clock: Callable[[], float], expected: int | None = None, deadline: float = 2.0
    ) -> None:
        self._address = Address.parse(address)
        self._clock = clock
        self._expected = expected
        self._deadline = deadline
        self._line = Channel(self._address)
        self._ladder = ProtocolNegotiation()
        self._life = Life()
        self._finished: int | None = None
        self._misses = 0
        self._turn = asyncio.Lock()

    async def snapshot(self) -> RollAnswer:
        """Look once. Never raises for anything the network or the coordinator does."""
        async with self._turn:
            started = _monotonic()
            try:
                async with asyncio.timeout(self._deadline * _PATIENCE):
                    connected = self._line.connected
                    found = await self._once()
                    if connected and not self._line.connected and _timed_out(found):
                        # The connection broke, but the port is open: a restarted coordinator, so ask that one.
                        found = await self._once()
            except TimeoutError:
                found = PortState(CoordinatorState.TIMEOUT, "each call is answered, but too slowly")
            return self._unanswered(started, found) if isinstance(found, PortState) else found

    async def changes(self) -> AsyncGenerator[RollAnswer, None]:
        """Each change as the coordinator reports it, after what this probe last saw.

        One question at a time is parked at the coordinator. Ends when the coordinator cannot be reached (with an
        answer that says why), when it cannot be asked for changes (before jaxlib 0.10), and for good as soon as a
        rank has left: a question parked while process 0 shuts down would hold up its exit by five seconds. Call it
        again after a snapshot that shows the coordinator serving; for a life that is ending, it then ends at once.
        """
        if self._life.seen is None:
            yield await self.snapshot()
        while (seen := self._since()) is not None:
            started, life = _monotonic(), self._life
            try:
                body = await send(self._line.channel, Question(Method.V2_WATCH_TASKS, seen.incarnation, seen))
                if self._life is not life:
                    continue  # a snapshot has met a newer coordinator in the meantime
                answer = self._read(body, Generation.V2, life, 0.0)
            except NoAnswer as error:
                if self._line.closed:
                    return
                if _mismatch(error) is None:
                    yield self._unanswered(started, await self._explain(error))
                    return
                answer = await self.snapshot()
            except Malformed as error:
                yield self._unanswered(started, _unreadable(error))
                return
            yield answer
            await asyncio.sleep(_PAUSE_CALM if _monotonic() - started > _CALM else _PAUSE_BUSY)

    async def preempted(self) -> bool:
        """Ask whether any member was told that it will be preempted, and carry a yes in this life's answers.

        A call of its own, so that snapshots stay at one; a reasonable owner asks every few snapshots.
        """
        if not self._life.preempted:
            self._life.preempted = PREEMPTION_KEY in await self._entries(PREEMPTION_KEY, directory=False)
        return self._life.preempted

    async def directory(self, prefix: str) -> dict[str, bytes]:
        """The entries of the job's key-value store under `prefix`/; empty when there are none or nobody answers."""
        return await self._entries(prefix, directory=True)

    async def close(self) -> None:
        """Drop the connection, and a parked question with it: given up together, they cost process 0 the least."""
        await self._line.close()

    async def _once(self) -> RollAnswer | PortState:
        sight = await self._reach()
        if sight is not None:
            return sight
        try:
            return await self._ask()
        except NoAnswer as error:
            return await self._explain(error)
        except Malformed as error:
            return _unreadable(error)

    async def _reach(self) -> PortState | None:
        """None when there is a connection to ask on, or a port worth one; otherwise what the port is."""
        if self._line.connected:
            return None
        self._ladder.forget()
        sight = await look(self._address, self._deadline)
        if sight.state is not CoordinatorState.SERVING:
            return sight
        await self._line.renew()
        return None

    async def _ask(self) -> RollAnswer:
        """Climb the ladder to the generation that answers. Raises `NoAnswer`, `Malformed`."""
        refusal = NoAnswer(grpc.StatusCode.UNIMPLEMENTED, "")
        for generation in self._ladder.climb():
            started = _monotonic()
            try:
                if generation is Generation.V2:
                    body, life = await self._introduced(Method.V2_WATCH_TASKS)
                else:
                    body = await send(self._line.channel, Question(generation.roll), self._deadline)
                    life = self._life if generation is self._ladder.rung else Life()
            except NoAnswer as error:
                if error.code is not grpc.StatusCode.UNIMPLEMENTED:
                    raise
                refusal = error
                continue
            self._ladder.keep(generation)
            self._life = life
            return self._read(body, generation, life, _monotonic() - started)
        self._ladder.forget()
        raise refusal

    async def _introduced(self, method: Method, key: str = "") -> tuple[bytes, Life]:
        """Ask a v2 question of the coordinator there is now, learning its incarnation from its refusal if need be.

        The life that answered comes with the answer: a version must never be taken for another life's.
        """
        for _ in range(_HANDSHAKES):
            life = self._life
            try:
                return await send(
                    self._line.channel, Question(method, life.incarnation or 0, key=key), self._deadline
                ), life
            except NoAnswer as error:
                incarnation = _mismatch(error)
                if incarnation is None:
                    raise
                if incarnation != self._life.incarnation:
                    self._life = Life(incarnation)
        raise Malformed("the coordinator does not accept the incarnation it names")

    def _read(self, body: bytes, generation: Generation, life: Life, latency: float) -> RollAnswer:
        reading = life.read(body, generation)
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
            incarnation=life.incarnation,
            protocol=generation.value,
            preempted=life.preempted,
        )
        if answer.left:
            self._finished = life.incarnation
        return answer

    def _since(self) -> Seen | None:
        """The version to wait from; None when nothing may be parked."""
        if self._line.closed or self._ladder.rung is not Generation.V2 or self._life.incarnation == self._finished:
            return None
        return self._life.seen

    async def _explain(self, error: NoAnswer) -> PortState:
        """What a call without an answer says about the port, after a look at it."""
        said = printable(error.text, 300)
        if error.code is grpc.StatusCode.UNIMPLEMENTED:
            return PortState(CoordinatorState.OTHER_PROTOCOL, "a gRPC server that is no JAX coordinator")
        if error.code not in _UNREACHED:
            return PortState(CoordinatorState.OTHER_PROTOCOL, f"the call was refused: {error.code.name}: {said}")
        sight = await look(self._address, self._deadline)
        if sight.state is not CoordinatorState.SERVING:
            return sight
        if error.code is grpc.StatusCode.DEADLINE_EXCEEDED:
            self._ladder.forget()
            self._misses += 1
            if self._misses >= _MISSES:
                self._misses = 0
                await self._line.renew()
        return PortState(
            CoordinatorState.TIMEOUT, f"speaks HTTP/2, but the call got no answer: {error.code.name}: {said}"
        )

    def _unanswered(self, started: float, sight: PortState) -> RollAnswer:
        latency = _monotonic() - started
        return RollAnswer(
            at=self._clock(), coordinator=sight.state, latency=latency, detail=printable(sight.detail, MAX_TEXT)
        )

    async def _entries(self, key: str, *, directory: bool) -> dict[str, bytes]:
        try:
            if self._ladder.rung is None:
                return {}
            if self._ladder.rung is Generation.V2:
                method = Method.V2_GET_KEY_VALUE_DIR if directory else Method.V2_TRY_GET_KEY_VALUE
                body, _ = await self._introduced(method, key)
            else:
                method = Method.V1_GET_KEY_VALUE_DIR if directory else Method.V1_TRY_GET_KEY_VALUE
                body = await send(self._line.channel, Question(method, key=key), self._deadline)
            return read_entries(body, 2 if directory else 1)
        except (NoAnswer, Malformed):
            return {}


def _mismatch(error: NoAnswer) -> int | None:
    if error.code is not grpc.StatusCode.INTERNAL:
        return None
    return read_mismatch(error.text, error.status_details)


def _timed_out(found: RollAnswer | PortState) -> bool:
    return isinstance(found, PortState) and found.state is CoordinatorState.TIMEOUT


def _unreadable(error: Malformed) -> PortState:
    return PortState(CoordinatorState.OTHER_PROTOCOL, f"the answer cannot be read: {error}")


def _monotonic() -> float:
    return asyncio.get_running_loop().time()
