"""Finds out which server is behind a port, without gRPC.

A gRPC channel reports the same UNAVAILABLE for a closed port, a web server and a TLS coordinator. This check connects,
sends the HTTP/2 client preface and reads the first bytes. A coordinator (any HTTP/2 server) answers with a SETTINGS
frame within milliseconds. A stopped process accepts the connection, because the kernel does, and sends nothing. A
server that closes the connection after the preface gets a TLS ClientHello on a second connection. No handshake is
completed, so the other side sees a client that disconnected. Source of the preface and the frame: RFC 9113, sections
3.4 and 4.1.
"""

import asyncio
import contextlib
import ssl

from muster.api.values.printable import printable
from muster.state.view.roll import CoordinatorState
from muster.watchers.probes.bounded.connection import BUFFER, Address, Guard, PortState, ProbeConnection, Unreached

_EMPTY_SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _EMPTY_SETTINGS
_FRAME_HEADER = 9
_SETTINGS = 4
_DYING = 0.1
"""Seconds within which the kernel closes the port of a killed process."""


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
    # The server closed the connection after the preface, as gRPC servers with TLS do.
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
    connection: ProbeConnection | None = None
    try:
        async with asyncio.timeout(deadline):
            connection = await ProbeConnection.open(address, Guard())
            connection.write(hello)
            return None, await _first_bytes(connection) if hello else b""
    except TimeoutError:
        if connection is not None:
            detail = f"its port accepts connections but sends no answer within {deadline:g} s"
            return PortState(CoordinatorState.SILENT, detail), b""
        return PortState(CoordinatorState.TIMEOUT, f"no connection within {deadline:g} s"), b""
    except Unreached as error:
        return error.port, b""
    except OSError:
        return None, b""
    finally:
        if connection is not None:
            connection.abort()


async def _first_bytes(connection: ProbeConnection) -> bytes:
    """Return the first bytes of the answer: enough for a frame header, unless the stream ends before."""
    connection.grant(_FRAME_HEADER * BUFFER, _FRAME_HEADER, "parts of a frame's header")
    first = b""
    while len(first) < _FRAME_HEADER and _may_be_settings(first) and (more := await connection.some()):
        first += more
    return first


def _may_be_settings(first: bytes) -> bool:
    return len(first) < 4 or first[3] == _SETTINGS


def _is_tls(first: bytes) -> bool:
    """Return True if the bytes begin a TLS record: handshake (22) or alert (21), version 3.x."""
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
