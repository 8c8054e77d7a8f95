"""Peers that send forever, one per kind of flood, and the figures of a process that probes them.

``python -m tests.watchers.probes.floods uvloop|asyncio`` asks each of them several times, in a process whose memory is
measured, and prints a JSON object per kind. The peers run in threads of the process that starts it. ``python -m
tests.watchers.probes.floods KIND PORT`` is such a peer, on every address of its machine or pod. Whenever a connection
has ended, it prints how many bytes it has sent so far, and to how many connections.
"""

import asyncio
import contextlib
import json
import os
import resource
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from muster.state.view.roll import RollAnswer
from muster.state.vocabulary.group import ProbeKind

ASKED = 4
"""Snapshots of each probe, one after the other."""
PIECE = 64 * 1024
"""Bytes that a peer hands to its kernel at a time, and that its kernel keeps until they are read."""


def frame(kind: int, flags: int = 0, stream: int = 0, payload: bytes = b"") -> bytes:
    """Return an HTTP/2 frame."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


SETTINGS = frame(4)
ANSWER = frame(1, 0x4, 1, b"\x88")
"""HEADERS of the first call's answer: ``:status: 200``."""


@dataclass(frozen=True)
class Flood:
    """The bytes of a peer: first ``opening``, then, once it has been asked, ``answer`` and ``again`` forever."""

    probe: ProbeKind
    again: bytes
    opening: bytes = b""
    answer: bytes = b""
    wait_for: int = 0
    """Bytes of the question that come before the answer."""
    says: str = ""
    """Words of the probe's result."""
    expected: int = 2
    """Members of the gang, which bounds the answer."""


def _http(answer: bytes, again: bytes, says: str, probe: ProbeKind = ProbeKind.HTTP) -> Flood:
    return Flood(probe, again, answer=answer, wait_for=40, says=says)


def _http2(again: bytes, says: str, *, answer: bytes = b"", probe: ProbeKind = ProbeKind.JAX) -> Flood:
    return Flood(probe, again, opening=SETTINGS, answer=answer, wait_for=150 if answer else 0, says=says)


OK = b"HTTP/1.1 200 OK\r\n"
TOO_MANY = "HTTP/2 frames, and is left alone for"
BROKEN = "it breaks HTTP/2"
ENDED = "HTTP/2"
"""The call has ended, for a truthful reason or for the flood after it."""
NODES = b",".join(
    b'{"node_ip": "10.0.%d.%d", "state": "ALIVE", "is_head_node": true, "labels": {"a": "%s", "b": "c"}}'
    % (node >> 8, node & 255, b"x" * 400)
    for node in range(10_000)
)
LIST = b'{"data": {"result": {"result": [' + NODES + b'], "total": 10000}}}'
"""The answer of the head of the largest Ray cluster."""
FLOODS = {
    "the longest list of nodes": Flood(
        ProbeKind.RAY,
        b" ",
        answer=OK + b"Content-Length: %d\r\n\r\n" % len(LIST) + LIST,
        wait_for=40,
        says="10000 Ray nodes are alive",
        expected=10_000,
    ),
    "DATA of a call to the largest gang": Flood(
        ProbeKind.JAX,
        frame(0, 0, 1, bytes(16_000)),
        opening=SETTINGS,
        answer=ANSWER,
        wait_for=150,
        says="it sent more than 8,519,690 bytes",
        expected=16_384,
    ),
    "interim answers": _http(b"", b"HTTP/1.1 100 Continue\r\n\r\n", "it sent more than 16 interim answers (100)"),
    "interim answers of a Ray head": _http(
        b"", b"HTTP/1.1 103 x\r\nLink: y\r\n\r\n", "it sent more than 16 interim answers (103)", ProbeKind.RAY
    ),
    "header lines": _http(OK, b"X-A: b\r\n", "it sent more than 256 lines of headers"),
    "a header line": _http(OK + b"X-A: ", b"a" * 4096, "it sent a line of more than 16,384 bytes"),
    "long header lines": _http(OK, b"X-A: " + b"a" * 8000 + b"\r\n", "it sent more than 65,536 bytes"),
    "chunks of a byte": _http(
        OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", "parts of a body", ProbeKind.RAY
    ),
    "chunks": _http(
        OK + b"Transfer-Encoding: chunked\r\n\r\n",
        b"4000\r\n" + b"x" * 0x4000 + b"\r\n",
        "more than 1049856 bytes",
        ProbeKind.RAY,
    ),
    "a body": _http(OK + b"\r\n", b"x" * 4096, "more than 1049856 bytes", ProbeKind.RAY),
    "a body that is not read": _http(OK + b"\r\n", b"x" * 4096, "GET /: 200"),
    "bytes to a port": Flood(ProbeKind.TCP, b"x" * 4096, says="accepts connections"),
    "bytes to a store": Flood(ProbeKind.TORCH, b"x" * 4096, says="something else answers"),
    "answers of a store": Flood(
        ProbeKind.TORCH, b"\0" * 4096, answer=struct.pack("<4q", 1, 1, 1, 1), wait_for=9, says="a value of 0 bytes"
    ),
    "bytes to a coordinator": Flood(ProbeKind.JAX, b"x" * 4096, says="something else answers"),
    "frames of an unknown type": _http2(frame(0x77), TOO_MANY),
    "frames of an unknown type, asked for health": _http2(frame(0x77), TOO_MANY, probe=ProbeKind.GRPC),
    "long frames of an unknown type": _http2(frame(0x77, payload=bytes(16_384)), "it sent more than"),
    "a longer frame than allowed": _http2(frame(0x77, payload=bytes(16_385)), "an HTTP/2 frame of 16,385 bytes"),
    "GOAWAY": _http2(frame(7, payload=bytes(8)), ENDED),
    "GOAWAY, asked for health": _http2(frame(7, payload=bytes(8)), "the server goes away", probe=ProbeKind.GRPC),
    "WINDOW_UPDATE": _http2(frame(8, payload=b"\0\0\0\1"), TOO_MANY),
    "PRIORITY": _http2(frame(2, stream=3, payload=b"\0\0\0\1\x10"), TOO_MANY),
    "PING": _http2(frame(6, payload=bytes(8)), TOO_MANY),
    "PING, asked for health": _http2(frame(6, payload=bytes(8)), TOO_MANY, probe=ProbeKind.GRPC),
    "SETTINGS": _http2(SETTINGS, TOO_MANY),
    "empty DATA": _http2(frame(0, stream=1), TOO_MANY, answer=ANSWER),
    "DATA without a call": _http2(frame(0, stream=1, payload=b"x"), BROKEN),
    "RST_STREAM": _http2(frame(3, stream=1, payload=b"\0\0\0\x08"), ENDED, answer=ANSWER),
    "DATA of a stream that is not open": _http2(
        frame(0, stream=2**31 - 1, payload=b"x"), "it sent a frame of the stream 2147483647, which is not open"
    ),
    "CONTINUATION": _http2(frame(9, stream=1), BROKEN),
    "an endless header block": _http2(frame(9, 0, 1, bytes(1)), BROKEN, answer=frame(1, 0, 1, b"\x88")),
    "big HEADERS": _http2(
        frame(1, 0x4, 1, b"\x40\x01a" + b"\x7f\xff\x7e" + b"b" * 16_300), BROKEN, answer=frame(1, 0x4, 1, b"\x88")
    ),
    "interim HEADERS": _http2(frame(1, 0x4, 1, b"\x48\x03103"), TOO_MANY, answer=frame(1, 0x4, 1, b"\x48\x03103")),
    "DATA of a call": _http2(frame(0, 0, 1, bytes(16_000)), "it sent more than 294,922 bytes", answer=ANSWER),
}


class Peer:
    """The sender of one flood to each connection, from threads."""

    def __init__(
        self,
        flood: Flood,
        address: tuple[str, int] = ("127.0.0.1", 0),
        report: Callable[["Peer"], None] = lambda _peer: None,
    ) -> None:
        self._flood = flood
        self._report = report
        self._lock = threading.Lock()
        self.sent = 0
        """Bytes that the kernel took: those that were read, and those in both kernels for each connection."""
        self._listener = socket.create_server(address)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, PIECE)
        self.port = int(self._listener.getsockname()[1])
        self.connections = 0
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        """End the peer, after the probe has closed its connections."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except ConnectionAbortedError:
                continue
            except OSError:
                return
            self.connections += 1
            self._threads.append(threading.Thread(target=self._send, args=(connection,)))
            self._threads[-1].start()

    def _send(self, connection: socket.socket) -> None:
        flood, asked = self._flood, 0
        piece = flood.again * max(1, PIECE // len(flood.again))
        with connection, contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            stack.callback(self._report, self)
            self._write(connection, flood.opening)
            while asked < flood.wait_for:
                more = connection.recv(4096)
                if not more:
                    return
                asked += len(more)
            self._write(connection, flood.answer)
            while True:
                self._write(connection, piece)

    def _write(self, connection: socket.socket, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            taken = connection.send(rest)
            with self._lock:
                self.sent += taken
            rest = rest[taken:]


class Prober(Protocol):
    """The methods that every probe has."""

    async def snapshot(self) -> RollAnswer: ...
    async def close(self) -> None: ...


def prober(kind: ProbeKind, port: int, expected: int) -> Prober:
    """Return the probe of that kind, as the daemon makes it."""
    from muster.watchers.probes.jax.probe import JaxProbe
    from muster.watchers.probes.ray.probe import RayProbe
    from muster.watchers.probes.stated import StatedProbe
    from muster.watchers.probes.torch.probe import TorchProbe

    address = f"127.0.0.1:{port}"
    if kind is ProbeKind.JAX:
        return JaxProbe(address, clock=lambda: 0.0, expected=expected)
    if kind is ProbeKind.RAY:
        return RayProbe(address, dashboard=port, agent=port, clock=lambda: 0.0, expected=expected)
    if kind is ProbeKind.TORCH:
        return TorchProbe(address, clock=lambda: 0.0, expected=expected)
    return StatedProbe(address, kind=kind, path="", clock=lambda: 0.0)


async def ask(kind: ProbeKind, port: int, expected: int) -> RollAnswer:
    """Return the last of several answers."""
    probe = prober(kind, port, expected)
    try:
        for _ in range(ASKED):
            answer = await probe.snapshot()
    finally:
        await probe.close()
    return answer


def measure(kind: str, port: int, expected: int, run: Any) -> dict[str, Any]:
    """Return the last answer of a probe, and the largest growth of this process in MB."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer: RollAnswer = run(ask(ProbeKind(kind), port, expected))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {"state": answer.coordinator.value, "detail": answer.detail, "grown": grown / 1024}


@contextlib.contextmanager
def measuring(loop: str) -> Iterator[Any]:
    """Yield a function that measures one flood in another process, which is the same for all of them."""
    command = [sys.executable, "-m", "tests.watchers.probes.floods", loop]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        written, read = child.stdin, child.stdout

        def measured(flood: Flood) -> dict[str, Any]:
            peer = Peer(flood)
            try:
                print(flood.probe.value, peer.port, flood.expected, file=written, flush=True)
                figures = json.loads(read.readline())
            finally:
                peer.close()
            return {**figures, "connections": peer.connections}

        yield measured
        written.close()


def _print_sent(peer: Peer) -> None:
    sys.stdout.write(f"{peer.sent} {peer.connections}\n")
    sys.stdout.flush()


def _serve(loop: str) -> None:
    run: Any = asyncio.run
    if loop == "uvloop":
        import uvloop

        run = uvloop.run
    for kind in ProbeKind:  # memory of imports and of objects that are made once is no growth
        if kind is not ProbeKind.NONE:
            measure(kind.value, 1, 2, run)
    for line in sys.stdin:
        asked, port, expected = line.split()
        sys.stdout.write(json.dumps(measure(asked, int(port), int(expected), run)) + "\n")
        sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] in FLOODS:
        Peer(FLOODS[sys.argv[1]], ("", int(sys.argv[2])), _print_sent)
    else:
        _serve(sys.argv[1])
