"""GET requests to an untrusted program: bounded in time, size and parts, without redirects or proxies.

The other side is a pod of the experiment, in which any program may write the answer. A redirect could send the daemon
to an address that only the daemon may reach, so none is followed. Bodies are asked for without compression, because a
small one could become a large one. aiohttp's client reads interim answers (1xx) without a bound and without a turn for
the rest of the event loop, so the answer is read here; its form is RFC 9112's. Each request has a connection of its
own, as with a kubelet's probes.
"""

import asyncio
import re
from dataclasses import dataclass
from urllib.parse import quote

from muster.api.values.printable import printable
from muster.state.view.roll import CoordinatorState
from muster.watchers.probes.bounded.connection import Address, Excess, Guard, ProbeConnection, Unreached, metered

MOST_INTERIM = 16
"""Most interim answers before the answer; servers send one at most."""
MOST_LINES = 256
"""Most lines of the head, with those of interim answers."""
MOST_HEAD = 64 * 1024
"""Most bytes of the head, with those of interim answers."""
MOST_PARTS = 512
"""Reads that a body may take (a chunk takes three), beside one for each ``PART`` bytes of it."""
PART = 256
MOST = 256 * 1024
"""Most bytes of a body, unless the caller expects a longer one."""
_PATH = "/%?=&:;@!$'()*+,~-._"
"""Characters of a path that are not escaped, beside letters and digits."""
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5]\d\d)(?: [^\r\n]*)?\r?\n")
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\n]*)?\r?\n")


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. ``status`` is 0 if there was none; ``state`` and ``detail`` then have the reason."""

    status: int
    body: bytes | bytearray = b""
    state: CoordinatorState = CoordinatorState.SERVING
    detail: str = ""

    @property
    def good(self) -> bool:
        """True if the request was answered with 200."""
        return self.status == 200


class _NoHttp(ValueError):
    """The answer is not HTTP/1."""


class Asker:
    """The sender of one probe's requests."""

    def __init__(self, host: str, *, token: str, deadline: float) -> None:
        """``host`` is an IP address. A token that no header can hold is not sent."""
        self._host, self._deadline = host, deadline
        self._headers = "Accept: */*\r\nAccept-Encoding: identity\r\nConnection: close\r\nUser-Agent: muster\r\n"
        if token and token.isascii() and token.isprintable():
            # Ray accepts either; a proxy in front of it may keep the first for itself.
            self._headers += f"Authorization: Bearer {token}\r\nx-ray-authorization: Bearer {token}\r\n"
        self._guards: dict[str, Guard] = {}

    async def get(self, port: int, path: str, *, host: str = "", most: int = MOST) -> Reply:
        """Ask the probe's host, or another, once. Raises nothing, whatever the network or the other side does.

        ``most`` bounds the body in bytes; with 0 the body is not read.
        """
        return await metered(self._get(port, path, host or self._host, most))

    async def _get(self, port: int, path: str, host: str, most: int) -> Reply:
        address = Address(host, port)
        connection: ProbeConnection | None = None
        try:
            async with asyncio.timeout(self._deadline):
                connection = await ProbeConnection.open(address, self._guards.setdefault(host, Guard()))
                head = f"GET {quote(path, safe=_PATH)} HTTP/1.1\r\nHost: {address}\r\n{self._headers}\r\n"
                connection.write(head.encode("latin-1", errors="replace"))
                return await _answer(connection, port, most)
        except TimeoutError:
            what = "connection" if connection is None else "answer"
            state = CoordinatorState.TIMEOUT if connection is None else CoordinatorState.SILENT
            return _none(state, f"no {what} within {self._deadline:g} s", port)
        except Unreached as error:
            return _none(error.port.state, error.port.detail, port)
        except Excess as error:
            return _none(CoordinatorState.OTHER_PROTOCOL, str(error), port)
        except _NoHttp as error:
            return _none(CoordinatorState.OTHER_PROTOCOL, f"no HTTP answer: {printable(str(error), 200)}", port)
        except asyncio.IncompleteReadError:
            return _none(CoordinatorState.OTHER_PROTOCOL, "no HTTP answer: it ends before its end", port)
        except OSError:
            return _none(CoordinatorState.REFUSED, "the connection was closed", port)
        finally:
            if connection is not None:
                connection.abort()

    async def accepts(self, port: int) -> bool:
        """Return True if the port of the probe's host accepts a connection. Nothing is sent, and nothing raised."""
        try:
            async with asyncio.timeout(self._deadline):
                guard = self._guards.setdefault(self._host, Guard())
                connection = await ProbeConnection.open(Address(self._host, port), guard)
        except (TimeoutError, Unreached, Excess, OSError):
            return False
        connection.abort()
        return True


async def _answer(connection: ProbeConnection, port: int, most: int) -> Reply:
    connection.grant(MOST_HEAD, MOST_LINES, "lines of headers")
    for _ in range(MOST_INTERIM + 1):
        status, headers = await _head(connection)
        if status == 0:
            return _none(CoordinatorState.REFUSED, "the connection was closed", port)
        if status >= 200 or status == 101:
            break
    else:
        raise connection.excess(f"it sent more than {MOST_INTERIM} interim answers ({status})")
    if not most or status in (101, 204, 304):
        return Reply(status)
    body = await _body(connection, headers, most)
    if body is None:
        return _none(CoordinatorState.OTHER_PROTOCOL, f"more than {most} bytes", port)
    return Reply(status, body)


async def _body(connection: ProbeConnection, headers: dict[bytes, bytes], most: int) -> bytearray | None:
    """Return the body; None if it is longer than ``most``."""
    connection.grant(2 * most + MOST_HEAD, MOST_PARTS + most // PART, "parts of a body")
    if headers.get(b"transfer-encoding", b"").lower() == b"chunked":
        return await _chunks(connection, most)
    length = headers.get(b"content-length")
    if length is None:
        return await _rest(connection, most)
    if not length.isdigit():
        raise _NoHttp(f"Content-Length: {length!r}")
    if len(length) > 18 or int(length) > most:
        return None
    return await _first(connection, int(length))


async def _chunks(connection: ProbeConnection, most: int) -> bytearray | None:
    body = bytearray()
    while True:
        line = await connection.line()
        size = _SIZE.fullmatch(line)
        if size is None:
            raise _NoHttp(f"a chunk begins with {line!r}")
        count = int(size[1], 16)
        if count == 0:  # trailers may follow; they are not needed
            return body
        if len(body) + count > most:
            return None
        body += await connection.exactly(count)
        await connection.line()


async def _first(connection: ProbeConnection, length: int) -> bytearray:
    """Read ``length`` bytes, in pieces: a long body is in memory once."""
    body = bytearray()
    while len(body) < length:
        data = await connection.some()
        if not data:
            raise _NoHttp("it ends before its end")
        body += data
    del body[length:]
    return body


async def _rest(connection: ProbeConnection, most: int) -> bytearray | None:
    body = bytearray()
    while data := await connection.some():
        body += data
        if len(body) > most:
            return None
    return body


async def _head(connection: ProbeConnection) -> tuple[int, dict[bytes, bytes]]:
    """Return status and headers of an answer, by their names in lower case; 0 if the connection ends before."""
    first = await connection.line()
    if not first:
        return 0, {}
    status = _STATUS.fullmatch(first)
    if status is None:
        raise _NoHttp(f"it begins with {first[:80]!r}")
    headers: dict[bytes, bytes] = {}
    while (line := await connection.line()).strip():
        name, _, value = line.partition(b":")
        headers[name.strip().lower()] = value.strip()
    if not line:
        raise _NoHttp("its headers do not end")
    return int(status[1]), headers


def _none(state: CoordinatorState, what: str, port: int) -> Reply:
    return Reply(0, state=state, detail=f"port {port}: {what}")
