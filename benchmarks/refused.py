"""What the progress endpoint spends on posts that it refuses, and on connections that it closes at once.

The server runs in this process and the client in another one, so a figure is the CPU time of the daemon's side alone.
The key is one of RSA, as the chart makes them. A post has a connection of its own, and so a whole handshake.
"""

import asyncio
import ssl
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import thread_time

import trustme
from aiohttp import web

from benchmarks.harness.result import Result
from muster.api.trainer_status import status_path
from muster.daemon.experiments.sent import PodIdentity
from muster.daemon.web.certificate import ServerCertificate
from muster.daemon.web.connections import Limits, Listener
from muster.daemon.web.progress.pod_tokens import PodTokens
from muster.daemon.web.progress.server import MEMBERS, StatusServer

POSTS, CLOSED = 300, 3000
NO_TURN = 1e-3
"""Handshakes a second of a listener that begins none while it is measured."""
POST = """
import socket, ssl, sys
port, authority, path, times = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
trust = ssl.create_default_context(cafile=authority)
head = f"POST {path} HTTP/1.1\\r\\nHost: a\\r\\nAuthorization: Bearer e30.e30.x\\r\\nContent-Length: 2\\r\\n\\r\\n{{}}"
for _ in range(times):
    plain = socket.create_connection(("127.0.0.1", port))
    with trust.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
        connection.sendall(head.encode())
        assert b" 403 " in connection.recv(4096)
"""
CONNECT = """
import socket, sys
for _ in range(int(sys.argv[4])):
    socket.create_connection(("127.0.0.1", int(sys.argv[1]))).close()
"""


class Nobody:
    """A daemon that leads, and hears nothing here."""

    leading, leader_address = True, ""

    def reported(self, namespace: str, name: str, pod: PodIdentity, body: bytes, address: str) -> None:
        """No post comes so far."""
        raise AssertionError(namespace, name, pod, body, address)

    def unheard(self, address: str) -> None:
        """It is not measured."""


def run() -> list[Result]:
    """Both figures."""
    with TemporaryDirectory() as folder:
        authority = trustme.CA(key_type=trustme.KeyType.RSA)
        authority.cert_pem.write_to_path(f"{folder}/ca.pem")
        issued = authority.issue_cert("127.0.0.1", key_type=trustme.KeyType.RSA)
        issued.private_key_and_cert_chain_pem.write_to_path(f"{folder}/tls.pem")
        post = asyncio.run(_cost(lambda: _endpoint(Path(folder)), POST, Path(folder), POSTS))
        closed = asyncio.run(_cost(lambda: _closing(), CONNECT, Path(folder), CLOSED))
    return [
        Result.of("a post that the progress endpoint refuses", round(post * 1e3, 2), "ms", 5.0),
        Result.of("a connection that it closes before its handshake", round(closed * 1e3, 3), "ms", 0.2),
    ]


async def _cost(start: Callable[[], Awaitable[tuple[Listener, int]]], client: str, folder: Path, times: int) -> float:
    """CPU seconds of this thread for each time that the client does its one thing."""
    listener, port = await start()
    began = thread_time()
    path = status_path("team-a", "train")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", client, str(port), f"{folder}/ca.pem", path, str(times)
    )
    started = thread_time() - began
    if await process.wait():
        raise subprocess.CalledProcessError(process.returncode or 0, "the client")
    await asyncio.sleep(0.2)  # what is left in the queue of the kernel
    spent = thread_time() - began - started
    await listener.stop()
    return spent / times


async def _endpoint(folder: Path) -> tuple[Listener, int]:
    server = StatusServer(
        Nobody(),
        PodTokens(None, asyncio.get_running_loop().time),  # type: ignore[arg-type]  # no token is reviewed
        "127.0.0.1",
        0,
        tls=ServerCertificate(folder / "tls.pem", folder / "tls.pem").context,
        trust=ssl.create_default_context(),
        named="musterd",
        key=bytes,
    )
    return server, await server.start()


async def _closing() -> tuple[Listener, int]:
    async def answer(request: web.BaseRequest) -> web.Response:
        raise AssertionError(request.path)

    limits = Limits(connections=MEMBERS.connections, per_peer=MEMBERS.per_peer)
    listener = Listener(answer, "127.0.0.1", 0, limits, per_second=NO_TURN)
    return listener, await listener.start()
