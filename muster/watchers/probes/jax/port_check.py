"""Finds out what is behind a port, without gRPC.

A gRPC channel reports the same UNAVAILABLE for a closed port, a web server and a TLS coordinator. This check connects,
sends the HTTP/2 client preface and reads the first bytes. A coordinator (any HTTP/2 server) answers with a SETTINGS
frame within milliseconds. A stopped process accepts the connection, because the kernel does, and sends nothing. A
server that closes the connection after the preface gets a TLS ClientHello on a second connection. No handshake is
completed, so the other side sees a client that disconnected. Source of the preface and the frame: RFC 9113, sections
3.4 and 4.1.
"""

import asyncio
import contextlib
import errno
import ipaddress
import socket
import ssl
from dataclasses import dataclass

from muster.api.values.printable import printable
from muster.state.view.roll import CoordinatorState

_EMPTY_SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _EMPTY_SETTINGS
_FRAME_HEADER = 9
_SETTINGS = 4
_FIRST_BYTES = 512
_DYING = 0.1
"""Seconds within which the kernel closes the port of a killed process."""
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

        A pod is probed by the address in its status, without name resolution.
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
    """What is behind the port. SERVING means only that the expected protocol is spoken."""

    state: CoordinatorState
    detail: str


_CLOSES = PortState(
    CoordinatorState.OTHER_PROTOCOL, "the port accepts connections and closes them after an HTTP/2 preface"
)


async def check_port(address: Address, deadline: float) -> PortState:
    """Check a port that should speak HTTP/2, with at most `deadline` seconds for each connection."""
    port = await _check_once(address, deadline)
    if port is _CLOSES:
        # A process that is being killed looks like this for a moment, too.
        await asyncio.sleep(_DYING)
        port = await _check_once(address, deadline)
    return port


async def _check_once(address: Address, deadline: float) -> PortState:
    port, first = await _exchange(address, _PREFACE, deadline)
    if port is not None:
        return port
    if first[3:4] == bytes([_SETTINGS]) and len(first) >= _FRAME_HEADER and first[5:9] == bytes(4):
        return PortState(CoordinatorState.SERVING, "speaks HTTP/2")
    if _is_tls(first):
        return PortState(CoordinatorState.TLS, "the port wants TLS")
    if first:
        return _other(first)
    # It closed the connection after the preface, as gRPC servers with TLS do.
    port, first = await _exchange(address, _client_hello(), deadline)
    if port is not None and port.state is not CoordinatorState.SILENT:
        return port
    return PortState(CoordinatorState.TLS, "the port wants TLS") if _is_tls(first) else _CLOSES


async def connect(address: Address, deadline: float) -> PortState:
    """Check only whether the port accepts connections."""
    port, _ = await _exchange(address, b"", deadline)
    return port or PortState(CoordinatorState.SERVING, "the port accepts connections")


async def _exchange(address: Address, hello: bytes, deadline: float) -> tuple[PortState | None, bytes]:
    """Connect and send `hello`; return the first bytes of the answer (none if it was closed), or the failure."""
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
            return PortState(
                CoordinatorState.SILENT, f"the port accepts connections and does not answer within {deadline:g} s"
            ), b""
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
    """The first bytes of the answer: enough for a frame header, unless the stream ends before."""
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
    with contextlib.suppress(ssl.SSLWantReadError):  # always raised: it waits for an answer that is never fed to it
        context.wrap_bio(incoming, outgoing, server_hostname="coordinator").do_handshake()
    return outgoing.read()


def _other(first: bytes) -> PortState:
    if first.startswith((b"HTTP/", b"<")):
        return PortState(CoordinatorState.OTHER_PROTOCOL, f"an HTTP/1 server answers: {printable(first, 80)}")
    return PortState(CoordinatorState.OTHER_PROTOCOL, f"something else answers: {printable(first, 80)!r}")
