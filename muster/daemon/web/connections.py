"""Limits on the connections of a listening socket, so that no peer can keep the others out.

A peer costs nothing to a listener until it connects; from then on it holds a socket, a parser and a task. What it can
hold is bounded in number (``Limits.connections``, ``Limits.per_peer``) and in time: the first request must be complete
within ``first_request``, however slowly its bytes come; a connection may be idle for ``idle``; and an answer must be
computed and read within ``answer``.

When a limit is reached, a new connection is not turned away. It takes the place of the oldest idle one: of its own peer
if that has its share, else of the peer that has most. A kubelet sends its probe at once and so is never the oldest idle
one, while an attacker that holds connections open loses them. A connection whose request waits for its body is idle in
this sense (``Listener.awaits``). A peer that loses a connection for lack of room is reported to ``refused``.

aiohttp bounds the rest: the length of a line and of a header field, the number of header fields, and the number of
pipelined requests that wait for their turn (it stops reading).

If handshakes have a pace, new connections have turns: each address has its own queue, so that many of one do not put
another one off. Accepting costs the daemon little, and a TLS handshake fifty times as much: 0.026 ms of CPU were
measured for a connection that is closed here, and 1.4 ms for a post that is refused (ADR 68). So connections are
accepted as they come, at most ``ACCEPTED`` a second, and wait here for their handshake. One address after the other has
a turn.
"""

import asyncio
import contextlib
import os
import socket
import ssl
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Final

import structlog
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from muster.kube.cancellation import cancel_and_wait

ACCEPTED: Final = 2000.0
"""Most connections accepted in a second: as many refused ones take a twentieth of a core."""
AT_ONCE: Final = 20
"""Most connections accepted without a pause."""
OF_ONE: Final = 128
"""Most waiting connections of one address."""
IN_ALL: Final = 1024
"""Most waiting connections. Another one takes the place of the newest one of the address with most."""


class Turns:
    """The connections that wait for their handshake. ``refused`` is called with the address of each without room."""

    def __init__(self, refused: Callable[[str], None]) -> None:
        self._refused = refused
        self._waiting: dict[str, deque[socket.socket]] = {}
        """Waiting connections by address. The first address is the next one."""
        self._number = 0
        self._some = asyncio.Event()

    def __len__(self) -> int:
        return self._number

    def add(self, address: str, connection: socket.socket) -> None:
        """Queue a connection, or close it if its address has its share."""
        if len(self._waiting.get(address, ())) >= OF_ONE:
            self._close(address, connection)
            return
        if self._number >= IN_ALL:
            most = max(self._waiting, key=lambda each: len(self._waiting[each]))
            self._close(most, self._taken(most, newest=True))
        self._waiting.setdefault(address, deque()).append(connection)
        self._number += 1
        self._some.set()

    async def next(self) -> socket.socket:
        """Return the next connection. Its address then becomes the last one."""
        while not self._number:
            self._some.clear()
            await self._some.wait()
        address = next(iter(self._waiting))
        connection = self._taken(address)
        if rest := self._waiting.pop(address, None):
            self._waiting[address] = rest
        return connection

    def close(self) -> None:
        """Close all waiting connections."""
        for waiting in self._waiting.values():
            for connection in waiting:
                connection.close()
        self._waiting.clear()
        self._number = 0

    def _taken(self, address: str, *, newest: bool = False) -> socket.socket:
        waiting = self._waiting[address]
        connection = waiting.pop() if newest else waiting.popleft()
        if not waiting:
            del self._waiting[address]
        self._number -= 1
        return connection

    def _close(self, address: str, connection: socket.socket) -> None:
        connection.close()
        self._refused(address)


log = structlog.get_logger()

QUEUE = 1024
"""Connections that wait in the kernel until they are accepted, if accepting has a pace."""

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Limits:
    """Numbers of connections, and seconds."""

    connections: int = 128
    per_peer: int = 32
    """Most connections of one address. All readers behind a port-forward or a proxy share it."""
    first_request: float = 5.0
    """Seconds from the accepted connection to a complete request. With TLS the handshake has as many before that."""
    idle: float = 15.0
    """Seconds between the end of an answer and the next complete request."""
    answer: float = 30.0
    """Seconds from a complete request until the peer has read the whole answer."""


@dataclass(slots=True)
class _Held:
    """One connection; ``busy`` while one of its requests is being answered."""

    transport: asyncio.Transport
    peer: str
    deadline: asyncio.TimerHandle
    busy: bool = False
    waits: bool = False
    """True while its request is being answered and the peer has not sent all of it."""
    lost: Callable[[], None] | None = None
    """The callback for its loss."""

    @property
    def closable(self) -> bool:
        """True while it is idle: its loss costs nothing that the peer could not have sent."""
        return self.waits or not self.busy


class Listener(web.Server):
    """The owner of one listening socket; ``answer`` is called for each complete request. ``port`` 0 takes a free one.

    With ``tls`` it serves TLS only. It counts connections by peer, makes room for new ones, and aborts those whose time
    is over.
    """

    def __init__(
        self,
        answer: Answer,
        host: str,
        port: int,
        limits: Limits,
        tls: ssl.SSLContext | None = None,
        per_second: float | None = None,
        refused: Callable[[str], None] = lambda _peer: None,
    ) -> None:
        """``per_second`` bounds how many handshakes begin in a second; other connections wait for their turn.

        ``refused`` is called with the address of a peer that loses a connection for lack of room.
        """
        super().__init__(
            self._serve,
            access_log=None,
            logger=_Complaints(),
            keepalive_timeout=limits.idle,
            lingering_time=1.0,
            max_line_size=4096,
            max_field_size=8190,
            max_headers=64,
            auto_decompress=False,
        )
        self._refused = refused
        self._answer = answer
        self._per_second = per_second
        self._tasks: list[asyncio.Task[None]] = []
        self._tls = tls
        self._host = host
        self._port = port
        self._limits = limits
        self._runner: web.ServerRunner | None = None
        self._listening: asyncio.Server | None = None
        self._held: dict[web.RequestHandler, _Held] = {}
        """Connections in the order of their last answer, or else of their arrival."""

    async def start(self) -> int:
        """Listen, and return the port. Raises ``OSError`` if the address cannot be bound."""
        self._runner = web.ServerRunner(self, shutdown_timeout=1.0)
        await self._runner.setup()
        try:
            self._listening = await asyncio.get_running_loop().create_server(
                self,
                self._host,
                self._port,
                ssl=self._tls,
                ssl_handshake_timeout=self._limits.first_request if self._tls else None,
                start_serving=self._per_second is None,
            )
        except OSError:
            await self.stop()
            raise
        if self._per_second is not None:
            own = socket.socket(fileno=os.dup(self._listening.sockets[0].fileno()))
            own.setblocking(False)
            own.listen(QUEUE)
            turns = Turns(self._refused)
            self._tasks = [
                asyncio.create_task(self._accept(turns, own), name="accept connections"),
                asyncio.create_task(self._shake(turns, 1 / self._per_second), name="begin handshakes"),
            ]
        return int(self._listening.sockets[0].getsockname()[1])

    async def _accept(self, turns: Turns, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with listening, contextlib.closing(turns):
            while True:
                for _ in range(AT_ONCE):
                    try:
                        connection, address = await loop.sock_accept(listening)
                    except OSError as error:  # no file descriptor is left, or the peer is gone already
                        log.warning("a connection cannot be accepted", error=str(error))
                        await asyncio.sleep(1.0)
                        break
                    turns.add(str(address[0]), connection)
                await asyncio.sleep(AT_ONCE / ACCEPTED)

    async def _shake(self, turns: Turns, pause: float) -> None:
        """Begin handshakes, one after the other with a pause between them."""
        shaking: set[asyncio.Task[None]] = set()
        while True:
            connection = await turns.next()
            taken = asyncio.create_task(self._take(connection), name="handshake")
            shaking.add(taken)
            taken.add_done_callback(shaking.discard)
            await asyncio.sleep(pause)

    async def _take(self, connection: socket.socket) -> None:
        timeout = self._limits.first_request if self._tls else None
        with contextlib.suppress(OSError):  # a handshake that fails is the peer's
            await asyncio.get_running_loop().connect_accepted_socket(
                self, connection, ssl=self._tls, ssl_handshake_timeout=timeout
            )

    async def stop(self) -> None:
        """Stop listening and close every connection. May be called at any time, and twice."""
        runner, self._runner = self._runner, None
        tasks, self._tasks = self._tasks, []
        await cancel_and_wait(*tasks)
        if self._listening is not None:
            self._listening.close()
        if runner is not None:
            await runner.cleanup()

    @contextlib.contextmanager
    def awaits(self, request: web.BaseRequest) -> Iterator[None]:
        """Let the connection of that request be closed to make room while its peer sends the rest."""
        held = self._held.get(request.protocol)
        if held is not None:
            held.waits = True
        try:
            yield
        finally:
            if held is not None:
                held.waits = False

    def unhurried(self, request: web.BaseRequest, lost: Callable[[], None]) -> None:
        """Lift the time limit of the answer to that request, which bounds itself: a stream.

        ``lost`` is called when its connection is lost.
        """
        held = self._held.get(request.protocol)
        if held is None:
            lost()
        else:
            held.deadline.cancel()
            held.lost = lost

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Hold a new connection if there is room for it."""
        super().connection_made(handler, transport)
        address = transport.get_extra_info("peername")
        peer = str(address[0]) if address else ""
        if self._make_room(peer):
            deadline = asyncio.get_running_loop().call_later(self._limits.first_request, transport.abort)
            self._held[handler] = _Held(transport, peer, deadline)
        else:
            transport.abort()
            self._refused(peer)

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        """Drop a connection that has ended."""
        super().connection_lost(handler, exc)
        self._release(handler)

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        handler = request.protocol
        held = self._held.get(handler)
        if held is None:  # aborted while the request was on its way to this task
            return web.Response(status=503)
        held.busy = True
        held.deadline.cancel()
        held.deadline = asyncio.get_running_loop().call_later(self._limits.answer, held.transport.abort)
        try:
            return await self._answer(request)
        finally:
            held.busy = False
            if self._held.pop(handler, None) is not None:
                self._held[handler] = held

    def _make_room(self, peer: str) -> bool:
        """Return True if one more connection of ``peer`` may stay; close an idle one if a limit is reached."""
        if sum(held.peer == peer for held in self._held.values()) >= self._limits.per_peer:
            return self._close_oldest(peer)
        if len(self._held) < self._limits.connections:
            return True
        counts = Counter(held.peer for held in self._held.values() if held.closable)
        return bool(counts) and self._close_oldest(max(counts, key=counts.__getitem__))

    def _close_oldest(self, peer: str) -> bool:
        """Abort the oldest idle connection of ``peer``, preferably one whose peer reads its answer."""
        idle = [handler for handler, held in self._held.items() if held.closable and held.peer == peer]
        if not idle:
            return False
        read = (handler for handler in idle if not self._held[handler].transport.get_write_buffer_size())
        chosen = next(read, idle[0])
        self._held[chosen].transport.abort()
        self._release(chosen)
        self._refused(peer)
        return True

    def _release(self, handler: web.RequestHandler) -> None:
        held = self._held.pop(handler, None)
        if held is not None:
            held.deadline.cancel()
            if held.lost is not None:
                held.lost()


class _Complaints:
    """A logger for aiohttp. It drops malformed requests, with which any peer could fill the log."""

    def debug(self, *_: object, **__: object) -> None:
        """Drop the message."""

    def exception(self, message: str, *args: object, exc_info: BaseException | None = None) -> None:
        """Log a request that was answered with an error, unless the request was malformed."""
        if not isinstance(exc_info, HttpProcessingError):
            log.error("a request could not be answered", detail=message % args, exc_info=exc_info)
