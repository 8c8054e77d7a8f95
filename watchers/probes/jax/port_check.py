"""What is behind a port, found out without being its client.

A gRPC channel reports one and the same UNAVAILABLE for a closed port, a web server and a TLS coordinator. So the
probe looks for itself: connect, send the HTTP/2 client preface, and read the first bytes. A coordinator (any HTTP/2
server) answers with a SETTINGS frame within milliseconds; a stopped process accepts, because the kernel does that,
and says nothing; a server that hangs up on the preface gets a TLS hello on a second connection. Nothing is ever
completed, so the other side sees a client that went away. Source of the preface and the frame: RFC 9113, sections 3.4
and 4.1.
"""

import asyncio
import contextlib
import errno
import ipaddress
import socket
import ssl
from dataclasses import dataclass

from muster.api.values.printable import printable
from muster.state.roll import CoordinatorState

_EMPTY_SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _EMPTY_SETTINGS
_FRAME_HEADER = 9
_SETTINGS = 4
_FIRST_BYTES = 512
_DYING = 0.1
"""Seconds a killed process may take to give its port up."""
_REFUSALS = frozenset({errno.ECONNREFUSED, errno.ECONNRESET})


@dataclass(frozen=True, slots=True)
class Address:
    """An IP address and a port."""

    host: str
    port: int
    v6: bool

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parse "10.1.2.3:1234" or "[fd00::1]:1234". Raises ValueError for anything else, host names included.

        A pod is probed by the address its status names: no resolver, no search path, no cached answer in between.
        """
        host, colon, port = text.rpartition(":")
        try:
            ip = ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
        except ValueError:
            ip = None
        bracketed = host.startswith("[") and host.endswith("]")
        if ip is None or not colon or bracketed != (ip.version == 6) or not (port.isascii() and port.isdigit()):
            raise ValueError(
                f'address {printable(text, 80)!r} is not "ip:port": use the pod IP, such as "10.1.2.3:1234"'
            )
        if not 0 < int(port[:6]) < 65536:
            raise ValueError(f"address {printable(text, 80)!r}: the port must be between 1 and 65535")
        return cls(str(ip), int(port), ip.version == 6)


@dataclass(frozen=True, slots=True)
class PortState:
    """What is behind the port. SERVING means no more than that the protocol looked for is spoken."""

    state: CoordinatorState
    detail: str


_HANGS_UP = PortState(CoordinatorState.OTHER_PROTOCOL, "the port accepts connections and hangs up on an HTTP/2 client")


async def look(address: Address, deadline: float) -> PortState:
    """Say what is behind a port that should speak HTTP/2; at most `deadline` seconds for each of its connections."""
    sight = await _look_once(address, deadline)
    if sight is _HANGS_UP:
        # For a moment, this is also what a process looks like that is just being killed.
        await asyncio.sleep(_DYING)
        sight = await _look_once(address, deadline)
    return sight


async def _look_once(address: Address, deadline: float) -> PortState:
    sight, first = await _converse(address, _PREFACE, deadline)
    if sight is not None:
        return sight
    if first[3:4] == bytes([_SETTINGS]) and len(first) >= _FRAME_HEADER and first[5:9] == bytes(4):
        return PortState(CoordinatorState.SERVING, "speaks HTTP/2")
    if _is_tls(first):
        return PortState(CoordinatorState.TLS, "the port wants TLS")
    if first:
        return _other(first)
    # It hung up on the preface, as gRPC servers with TLS do.
    sight, first = await _converse(address, _client_hello(), deadline)
    if sight is not None and sight.state is not CoordinatorState.SILENT:
        return sight
    return PortState(CoordinatorState.TLS, "the port wants TLS") if _is_tls(first) else _HANGS_UP


async def connect(address: Address, deadline: float) -> PortState:
    """Say whether the port accepts connections, and nothing more."""
    sight, _ = await _converse(address, b"", deadline)
    return sight or PortState(CoordinatorState.SERVING, "the port accepts connections")


async def _converse(address: Address, hello: bytes, deadline: float) -> tuple[PortState | None, bytes]:
    """Connect, say `hello`, return the first bytes of the answer (none if it hung up); or the sight of a failure."""
    loop = asyncio.get_running_loop()
    connected = False
    try:
        with socket.socket(socket.AF_INET6 if address.v6 else socket.AF_INET, socket.SOCK_STREAM) as connection:
            connection.setblocking(False)
            async with asyncio.timeout(deadline):
                await loop.sock_connect(connection, (address.host, address.port))
                connected = True
                if not hello:
                    return None, b""
                await loop.sock_sendall(connection, hello)
                return None, await _first_bytes(loop, connection)
    except TimeoutError:
        if connected:
            return PortState(CoordinatorState.SILENT, f"the port accepts and stayed silent for {deadline:g} s"), b""
        return PortState(CoordinatorState.TIMEOUT, f"no connection within {deadline:g} s"), b""
    except OSError as error:
        if connected:
            return None, b""
        refused = error.errno in _REFUSALS
        state = CoordinatorState.REFUSED if refused else CoordinatorState.TIMEOUT
        return PortState(
            state, "connection refused" if refused else f"no connection: {printable(str(error), 200)}"
        ), b""


async def _first_bytes(loop: asyncio.AbstractEventLoop, connection: socket.socket) -> bytes:
    """The first bytes of the answer: enough for a frame header, or fewer before the end."""
    first = b""
    while len(first) < _FRAME_HEADER:
        more = await loop.sock_recv(connection, _FIRST_BYTES)
        if not more:
            break
        first += more
        if not _may_be_settings(first):
            break
    return first


def _may_be_settings(first: bytes) -> bool:
    return len(first) < 4 or first[3] == _SETTINGS


def _is_tls(first: bytes) -> bool:
    """Whether the bytes begin a TLS record: handshake (22) or alert (21), version 3.x."""
    return len(first) >= 3 and first[0] in (21, 22) and first[1] == 3


def _client_hello() -> bytes:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["h2"])
    with contextlib.suppress(ssl.SSLWantReadError):  # which it must raise: the answer is never given to it
        context.wrap_bio(incoming, outgoing, server_hostname="coordinator").do_handshake()
    return outgoing.read()


def _other(first: bytes) -> PortState:
    if first.startswith((b"HTTP/", b"<")):
        return PortState(CoordinatorState.OTHER_PROTOCOL, f"an HTTP/1 server answers: {printable(first, 80)}")
    return PortState(CoordinatorState.OTHER_PROTOCOL, f"something else answers: {printable(first, 80)!r}")
