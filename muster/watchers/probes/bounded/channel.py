"""A gRPC channel to one server, for unary calls.

gRPC's own client does not bound frames that are no answer: one peer can take a core, and memory without end.

A call grants a number of frames and bytes, and until the next one the peer may send no more than that. h2 judges the
frames and decodes the headers (RFC 9113, 7541).
"""

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import NoReturn

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings

from muster.kube.cancellation import cancel_and_wait
from muster.watchers.probes.bounded.connection import Address, Excess, Guard, ProbeConnection, Unreached, metered
from muster.watchers.probes.bounded.grpc import PREFIX, NoAnswer, Status, framed, message_of, request_headers

HEADERS = 64 * 1024
"""Most bytes of the headers and trailers of an answer."""
FRAMES = 64
"""Frames that a call may take, beside one for each ``FRAME`` bytes of its answer; a server sends ten."""
FRAME = 4096
CALLS = 2
"""Calls that are answered at a time: a question, and the one that waits for changes."""
LONGEST_FRAME = 16 * 1024
_HEAD = 9
_SETTINGS, _GOAWAY = 4, 7
_OF_RESET: dict[int | None, Status] = {
    h2.errors.ErrorCodes.REFUSED_STREAM: Status.UNAVAILABLE,
    h2.errors.ErrorCodes.CANCEL: Status.CANCELLED,
    h2.errors.ErrorCodes.ENHANCE_YOUR_CALM: Status.RESOURCE_EXHAUSTED,
    h2.errors.ErrorCodes.INADEQUATE_SECURITY: Status.PERMISSION_DENIED,
}
"""The meaning of a stream's end, by its code; INTERNAL for the others (doc/PROTOCOL-HTTP2.md, "Errors")."""


@dataclass(slots=True)
class CallAnswer:
    """The received parts of an answer: headers and trailers together, and the body."""

    whole: asyncio.Future[None]
    headers: dict[bytes, bytes] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)

    def end(self, why: Exception | None) -> None:
        """End the answer for that reason; None: it is complete."""
        if self.whole.done():
            return
        if why is None:
            self.whole.set_result(None)
        else:
            self.whole.set_exception(why)


class _Http2(h2.connection.H2Connection):
    """A client that asks for no pushes."""

    MAX_CLOSED_STREAMS = 128
    """h2 keeps 65,536: 10 MB after a day of calls."""

    def __init__(self) -> None:
        super().__init__(
            h2.config.H2Configuration(
                header_encoding=None,
                validate_outbound_headers=False,
                normalize_outbound_headers=False,
                validate_inbound_headers=False,
                normalize_inbound_headers=False,
            )
        )
        code = h2.settings.SettingCodes
        self.local_settings = h2.settings.Settings(
            initial_values={code.ENABLE_PUSH: 0, code.MAX_HEADER_LIST_SIZE: HEADERS}
        )


class Link:
    """One connection, whose answers have at most ``most`` bytes."""

    def __init__(self, connection: ProbeConnection, most: int) -> None:
        self._connection, self._most = connection, most
        self._h2 = _Http2()
        self._answers: dict[int, CallAnswer] = {}
        self._reading: asyncio.Task[None] | None = None
        self.open = True
        """True if another call may begin."""

    @classmethod
    async def to(cls, address: Address, guard: Guard, most: int) -> "Link":
        """Connect, and wait for the server's settings. Raises `NoAnswer`, and what a ``ProbeConnection`` raises."""
        link = cls(await ProbeConnection.open(address, guard), most)
        try:
            await link._greet()
        except BaseException:
            link._connection.abort()
            raise
        link._reading = asyncio.create_task(link._read(), name=f"read HTTP/2 of {address}")
        return link

    async def post(self, headers: list[tuple[bytes, bytes]], body: bytes) -> CallAnswer:
        """Send a request and return its answer. Raises `NoAnswer`, ``Excess``."""
        if not self.open:
            raise NoAnswer(Status.UNAVAILABLE, "the connection was closed")
        try:
            stream = self._h2.get_next_available_stream_id()
            self._h2.send_headers(stream, headers)
            self._h2.send_data(stream, body, end_stream=True)
        except h2.exceptions.ProtocolError as error:  # the server's settings or windows allow no further call
            self.open = False
            raise NoAnswer(Status.UNAVAILABLE, f"no further call is allowed: {error}") from None
        frames = FRAMES + self._most // FRAME
        self._connection.grant(CALLS * (self._most + HEADERS), CALLS * frames, "HTTP/2 frames")
        answer = self._answers[stream] = CallAnswer(asyncio.get_running_loop().create_future())
        self._send()
        try:
            await answer.whole
        finally:
            if self._answers.pop(stream, None) is not None:  # nobody waits for it now
                self._reset(stream)
        return answer

    async def close(self) -> None:
        """Close the connection, which ends its calls."""
        self._end(NoAnswer(Status.CANCELLED, "the channel was closed"))
        await cancel_and_wait(self._reading)

    async def _greet(self) -> None:
        self._h2.initiate_connection()
        self._send()
        self._connection.grant(_HEAD + LONGEST_FRAME, 1, "HTTP/2 frames")
        head = await self._connection.exactly(_HEAD)
        length = int.from_bytes(head[:3], "big")
        if head[3] != _SETTINGS or length > LONGEST_FRAME:
            raise NoAnswer(Status.UNAVAILABLE, "no HTTP/2 server answers")
        try:
            self._receive(head + await self._connection.exactly(length, parts=0))
        except h2.exceptions.H2Error as error:
            raise NoAnswer(Status.UNAVAILABLE, f"no HTTP/2 server answers: {error}") from None
        self._connection.grant(_HEAD + LONGEST_FRAME, FRAMES, "HTTP/2 frames")

    async def _read(self) -> None:
        why: Exception = NoAnswer(Status.UNAVAILABLE, "the connection was closed")
        try:
            await metered(self._frames())
        except h2.exceptions.NoSuchStreamError as error:
            why = self._connection.excess(f"it sent a frame of the stream {error.stream_id}, which is not open")
        except h2.exceptions.H2Error as error:
            why = self._connection.excess(f"it breaks HTTP/2: {error}")
        except Excess as error:
            why = error
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self._end(why)

    async def _frames(self) -> NoReturn:
        while True:
            head = await self._connection.exactly(_HEAD)
            length = int.from_bytes(head[:3], "big")
            if length > LONGEST_FRAME:
                raise self._connection.excess(f"it sent an HTTP/2 frame of {length:,} bytes")
            frame = head + await self._connection.exactly(length, parts=0)
            if head[3] == _GOAWAY:
                self._go_away(frame[_HEAD:])
            else:
                self._receive(frame)
            self._send()
            await self._connection.drain()

    def _receive(self, frame: bytes) -> None:
        """Take in one frame. Raises ``H2Error``."""
        for event in self._h2.receive_data(frame):
            match event:
                case h2.events.ResponseReceived() | h2.events.TrailersReceived():
                    if answer := self._answers.get(event.stream_id):
                        answer.headers.update(event.headers)
                case h2.events.DataReceived():
                    self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                    if answer := self._answers.get(event.stream_id):
                        answer.body += event.data
                        if len(answer.body) > self._most:
                            self._refuse(event.stream_id)
                case h2.events.StreamEnded():
                    if answer := self._answers.pop(event.stream_id, None):
                        answer.end(None)
                case h2.events.StreamReset():
                    if answer := self._answers.pop(event.stream_id, None):
                        answer.end(_reset_by_server(event.error_code))

    def _go_away(self, payload: bytes) -> None:
        """Take in the server's GOAWAY: no further call, and answers up to the named one, which h2 would drop, too."""
        self.open = False
        last = int.from_bytes(payload[:4], "big") & 0x7FFFFFFF
        for stream in [stream for stream in self._answers if stream > last]:
            self._answers.pop(stream).end(NoAnswer(Status.UNAVAILABLE, "the server goes away"))

    def _refuse(self, stream: int) -> None:
        self._answers.pop(stream).end(
            NoAnswer(Status.RESOURCE_EXHAUSTED, f"the answer is longer than {self._most:,} bytes")
        )
        self._reset(stream)

    def _reset(self, stream: int) -> None:
        with contextlib.suppress(h2.exceptions.ProtocolError):  # it has ended meanwhile
            self._h2.reset_stream(stream, h2.errors.ErrorCodes.CANCEL)
        self._send()

    def _send(self) -> None:
        data = self._h2.data_to_send()
        if data:
            self._connection.write(data)

    def _end(self, why: Exception) -> None:
        self.open = False
        self._connection.abort()
        answers = list(self._answers.values())
        self._answers.clear()
        for answer in answers:
            answer.end(why)


def _reset_by_server(code: h2.errors.ErrorCodes | int | None) -> NoAnswer:
    name = code.name if isinstance(code, h2.errors.ErrorCodes) else str(code)
    return NoAnswer(_OF_RESET.get(code, Status.INTERNAL), f"the server reset the call: {name}")


MAX_ANSWER = 4 * 1024 * 1024
"""Bytes: 16,384 ranks take 0.3 MB; an answer is read up to this size."""
_FIXED_BYTES = 64 * 1024
_RANK_BYTES = 8 * 1024
"""Bytes a rank: it takes 20; one that failed adds its error's text twice."""


def most_bytes(expected: int | None) -> int:
    """Return the size of the largest answer from the coordinator of that many processes (None: of any number)."""
    return MAX_ANSWER if expected is None else min(MAX_ANSWER, _FIXED_BYTES + _RANK_BYTES * expected)


class Channel:
    """Calls to one server: the first call connects, and so does the first one after the connection has ended."""

    def __init__(self, address: Address, expected: int | None = None) -> None:
        """`expected` is the number of processes, which bounds the size of an answer."""
        self._address, self._most = address, PREFIX + most_bytes(expected)
        self._guard = Guard()
        self._link: Link | None = None
        self._connecting = asyncio.Lock()
        self.closed = False

    @property
    def connected(self) -> bool:
        """True while the connection is up. After it was lost, another process may be at its other end."""
        return self._link is not None and self._link.open

    def check(self) -> None:
        """Raise `NoAnswer` while the server is not asked because of what it sent."""
        try:
            self._guard.check()
        except Excess as error:
            raise _cut_off(error) from None

    async def unary(self, method: str, message: bytes, deadline: float | None) -> bytes:
        """Return the answer to one call, within that many seconds (None: without a deadline).

        Raises `NoAnswer` for every other end of the call.
        """
        headers = request_headers(method, str(self._address), deadline)
        try:
            async with asyncio.timeout(deadline):
                link = await self._open()
                answer = await link.post(headers, framed(message))
        except TimeoutError:
            raise NoAnswer(Status.DEADLINE_EXCEEDED, "no answer within the deadline") from None
        except Excess as error:
            raise _cut_off(error) from None
        return message_of(answer.headers, answer.body)

    async def renew(self) -> None:
        """Close the connection and end its calls; the next call opens another one."""
        link, self._link = self._link, None
        if link is not None:
            await link.close()

    async def close(self) -> None:
        """Close the connection for good and end its calls."""
        self.closed = True
        await self.renew()

    async def _open(self) -> Link:
        async with self._connecting:
            link = self._link
            if link is None or not link.open:
                await self.renew()
                link = await self._connect()
            if self.closed:
                await link.close()
                raise NoAnswer(Status.CANCELLED, "the probe is closed")
            self._link = link
            return link

    async def _connect(self) -> Link:
        try:
            return await Link.to(self._address, self._guard, self._most)
        except Unreached as error:
            raise NoAnswer(Status.UNAVAILABLE, error.port.detail) from None
        except (OSError, asyncio.IncompleteReadError):
            raise NoAnswer(Status.UNAVAILABLE, "the connection was closed") from None


def _cut_off(error: Excess) -> NoAnswer:
    return NoAnswer(Status.RESOURCE_EXHAUSTED, str(error), excess=True)
