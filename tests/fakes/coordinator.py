"""A JAX coordination service, in each generation of its protocol.

It has the rules of the real one as far as a prober can see them: registered tasks, the rendezvous that lets all pass
together, the version that grows with each change, the incarnation that a request must name, parked requests. Each call
that would crash a real job is recorded in ``forbidden_calls``, which tests assert to be empty.

It has its own protobuf encoder and decoder, so that it does not share a mistake with the prober.
"""

import asyncio
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import grpc
import grpc.aio

DISCONNECTED, CONNECTED, ERROR = 2, 3, 4

V2 = "/xla.coordination.CoordinationService/"
V1 = "/tensorflow.CoordinationService/"
ROLL_CALL = {
    "v2": V2 + "WatchTasks",
    "v1-watch": V1 + "WatchJobState",
    "v1-job": V1 + "GetJobState",
    "v1-task0": V1 + "GetTaskState",
}

KEY_VALUE = ("TryGetKeyValue", "GetKeyValueDir")


def _varint(value: int) -> bytes:
    value %= 1 << 64
    out = []
    while True:
        out.append(value % 128 + (128 if value > 127 else 0))
        value //= 128
        if not value:
            return bytes(out)


def _number(tag: int, value: int) -> bytes:
    return _varint(tag * 8) + _varint(value) if value else b""


def _fixed(tag: int, value: int) -> bytes:
    return _varint(tag * 8 + 1) + struct.pack("<Q", value) if value else b""


def _blob(tag: int, value: bytes) -> bytes:
    return _varint(tag * 8 + 2) + _varint(len(value)) + value


def _parse(data: bytes) -> dict[int, Any]:
    """The fields of a request; the last one of each number."""
    found: dict[int, Any] = {}
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag % 8 == 0:
            value = varint()
            found[tag // 8] = value - (1 << 64) if value >> 63 else value
        elif tag % 8 == 1:
            found[tag // 8] = struct.unpack_from("<Q", data, at)[0]
            at += 8
        else:
            length = varint()
            found[tag // 8] = data[at : at + length]
            at += length
    return found


@dataclass
class FakeTask:
    """The service's state of one rank."""

    state: int = DISCONNECTED
    incarnation: int = 0
    code: int = 0
    text: bytes = b""


@dataclass(frozen=True)
class Call:
    """A received request."""

    method: str
    incarnation: int = 0
    version: int | None = None
    peer: str = ""


@dataclass
class FakeCoordinator:
    """A coordinator of ``n`` processes on a port of loopback, by default a free one, as an async context manager."""

    n: int
    protocol: str = "v2"
    port: int = 0
    host: str = "127.0.0.1"
    calls: list[Call] = field(default_factory=list)
    forbidden_calls: list[str] = field(default_factory=list)
    """Requests that would crash a real coordinator, and methods that a prober must not call."""
    store: dict[str, bytes] = field(default_factory=dict)
    """The key-value store."""
    mangle: Callable[[bytes], bytes] = bytes
    """Applied to the bytes of each answer."""
    frozen: bool = False
    """Do not answer any more, like a service whose threads are stuck."""
    held: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a call was left without an answer for that reason."""
    refusal: tuple[grpc.StatusCode, str] | None = None
    """The status with which each call is refused."""
    options: tuple[tuple[str, Any], ...] = ()
    compression: grpc.Compression | None = None
    seed: int = 7
    incarnation: int = 0
    version: int = 0
    parked: int = 0
    """Number of requests that wait for a change at this moment."""
    most_parked: int = 0
    tasks: dict[int, FakeTask] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Initialize without listening."""
        self._random = random.Random(self.seed)
        self._server: grpc.aio.Server | None = None
        self._changed = asyncio.Event()
        self._parking = asyncio.Event()
        self._told: dict[int, int] = {}

    async def __aenter__(self) -> Self:
        """Start listening."""
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop listening."""
        await self.stop()

    @property
    def address(self) -> str:
        """The address on which it listens."""
        return f"{self.host}:{self.port}"

    async def start(self) -> None:
        """Start with a new incarnation and no registered task."""
        self.incarnation = self._random.getrandbits(64) | 1
        self.version = 0
        self.tasks = {rank: FakeTask() for rank in range(self.n)}
        self._changed = asyncio.Event()
        self._server = grpc.aio.server(options=(("grpc.so_reuseport", 0), *self.options), compression=self.compression)
        self._server.add_generic_rpc_handlers((_Handlers(self),))
        self.port = self._server.add_insecure_port(self.address)
        await self._server.start()

    async def stop(self) -> None:
        """End like a killed process: connections break, and the port refuses new ones."""
        server, self._server = self._server, None
        if server is not None:
            await server.stop(None)

    async def restart(self) -> None:
        """Replace process 0 by another one at the same address."""
        await self.stop()
        await self.start()

    def arrive(self, *ranks: int) -> None:
        """Register these ranks; the last of all ranks lets all pass."""
        for rank in ranks:
            self.tasks[rank] = FakeTask(DISCONNECTED, self._random.getrandbits(64) | 1)
            self.version += 1
        if all(task.incarnation for task in self.tasks.values()):
            for task in self.tasks.values():
                if task.state == DISCONNECTED:
                    task.state = CONNECTED
                    self.version += 1
        self._change(0)

    def fail(self, rank: int, code: int = 14, text: str | bytes = "heartbeat timeout") -> None:
        """Report an error of a rank, as the service does when its heartbeat times out."""
        task = self.tasks[rank]
        task.state, task.code = ERROR, code
        task.text = text if isinstance(text, bytes) else text.encode()
        self._change(1)

    def leave(self, *ranks: int) -> None:
        """Shut down these ranks in good order; all of them without arguments."""
        for rank in ranks or range(self.n):
            self.tasks[rank].state = DISCONNECTED
            self._change(1)

    def _change(self, by: int) -> None:
        self.version += by
        self._changed.set()
        self._changed = asyncio.Event()

    async def parking(self, count: int) -> None:
        """Wait until that many requests are parked."""
        while self.parked != count:
            await self._parking.wait()

    def _park(self, by: int) -> None:
        self.parked += by
        self.most_parked = max(self.most_parked, self.parked)
        self._parking.set()
        self._parking = asyncio.Event()

    async def answer(self, method: str, body: bytes, context: Any) -> bytes:
        """Check and answer one request."""
        if self.frozen:
            self.calls.append(Call(method, peer=context.peer()))
            self.held.set()
            await asyncio.Event().wait()
        if method.startswith(V2):
            request = _parse(body)
            said = _parse(request.get(1, b"")).get(3, 0)
            self.calls.append(Call(method, said, request.get(2) if method.endswith("WatchTasks") else None))
            if self.refusal is None and said != self.incarnation:
                await self._wrong_incarnation(context, said)
            reply = await self._v2(method, request, context)
        else:
            reply = await self._v1(method, _parse(body), context)
        if self.refusal is not None:
            await context.abort(*self.refusal)
        sent = self.mangle(reply)
        if sent != reply:  # the answer may contain any version, so a request may repeat any
            self._told[self.incarnation] = 1 << 63
        return sent

    async def _v2(self, method: str, request: dict[int, Any], context: Any) -> bytes:
        if method.endswith("/WatchTasks"):
            version = request.get(2, 0)
            if version > self._told.get(self.incarnation, -1):
                self.forbidden_calls.append(f"version {version}, which was never reported")
            if version > self.version:
                await context.abort(grpc.StatusCode.UNAVAILABLE, "process 0 is gone: CHECK_GE failed")
            while version == self.version:
                self._park(1)
                try:
                    await self._changed.wait()
                finally:
                    self._park(-1)
            self._told[self.incarnation] = self.version
            tasks = b"".join(_blob(1, _number(1, rank) + self._state(task)) for rank, task in self._shuffled())
            return tasks + _number(2, self.version)
        return await self._key_value(request.get(2, b"").decode(), method, context)

    async def _v1(self, method: str, request: dict[int, Any], context: Any) -> bytes:
        self.calls.append(Call(method, 0, request.get(2) if method.endswith("WatchJobState") else None))
        if method.endswith(("KeyValue", "Dir")):
            return await self._key_value(request[1].decode(), method, context)
        if method.endswith("WatchJobState") and request.get(2, 0) >= 0:
            self.forbidden_calls.append(f"WatchJobState with version {request.get(2, 0)}")
        ranks = self._shuffled()
        if method.endswith("GetTaskState"):
            asked = _parse(request.get(1, b""))
            if asked.get(2, 0) != 0:
                self.forbidden_calls.append(f"GetTaskState of task {asked.get(2)}")
            ranks = [(0, self.tasks[0])]
        return b"".join(
            _blob(1, _blob(1, _blob(1, b"jax_worker") + _number(2, rank)) + self._state(task)) for rank, task in ranks
        ) + _number(2, self.version if method.endswith("WatchJobState") else 0)

    def _state(self, task: FakeTask) -> bytes:
        incarnation = 0 if self.protocol == "v1-task0" else task.incarnation
        text = _blob(4, task.text) + _blob(5, _number(4, 1)) if task.text else b""
        return _number(2, task.state) + _number(3, task.code) + text + _fixed(6, incarnation)

    def _shuffled(self) -> list[tuple[int, FakeTask]]:
        return self._random.sample(sorted(self.tasks.items()), len(self.tasks))

    async def _key_value(self, key: str, method: str, context: Any) -> bytes:
        if method.endswith("Dir"):
            found = {name: value for name, value in self.store.items() if name.startswith(key + "/")}
            return _blob(1, key.encode()) + b"".join(
                _blob(2, _blob(1, name.encode()) + _blob(2, value)) for name, value in found.items()
            )
        if key not in self.store:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"Config key {key} not found.")
        return _blob(1, _blob(1, key.encode()) + _blob(2, self.store[key]))

    async def _wrong_incarnation(self, context: Any, said: int) -> None:
        payload = _blob(1, b"type.googleapis.com/tensorflow.ServiceMismatchError")
        payload += _blob(2, _fixed(1, self.incarnation))
        context.set_trailing_metadata((("grpc-status-details-bin", _blob(1, payload)),))
        text = f"wrong service incarnation: requested {said}, currently {self.incarnation}"
        await context.abort(grpc.StatusCode.INTERNAL, text)


class _Handlers(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Serves the methods of this generation, and records calls that a prober must not make."""

    def __init__(self, coordinator: FakeCoordinator) -> None:
        self._coordinator = coordinator

    def service(self, details: Any) -> Any:
        """The handler of a method; None: UNIMPLEMENTED."""
        coordinator, method = self._coordinator, details.method
        package = V2 if coordinator.protocol == "v2" else V1
        reads = {*ROLL_CALL.values(), *(base + name for base in (V1, V2) for name in KEY_VALUE)}
        if method not in reads:
            coordinator.forbidden_calls.append(f"method {method}")
        served = {ROLL_CALL.get(coordinator.protocol), *(package + name for name in KEY_VALUE)}
        if coordinator.protocol == "v1-job":
            served.add(ROLL_CALL["v1-task0"])  # as in jaxlib 0.5.3 to 0.6
        if coordinator.protocol == "other" or method not in served:
            coordinator.calls.append(Call(method))
            return None

        async def answer(body: bytes, context: Any) -> bytes:
            return await coordinator.answer(method, body, context)

        return grpc.unary_unary_rpc_method_handler(answer, None, None)
