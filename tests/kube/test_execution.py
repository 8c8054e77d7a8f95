"""Commands and ports over a WebSocket, against servers that answer, refuse, cut off and send nonsense."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from muster.api.errors import ApiError, Forbidden, NotFound, Unreachable
from muster.kube import execution
from muster.kube.connection import Connection
from muster.kube.execution import ERROR_CHANNEL, PROTOCOL, Executed, dial, execute
from tests.fakes.apiserver import ApiServer

Talk = Callable[[web.WebSocketResponse], Awaitable[None]]
SUCCESS = {"metadata": {}, "status": "Success"}
EXITED = {
    "status": "Failure",
    "reason": "NonZeroExitCode",
    "message": "command terminated with non-zero exit code",
    "details": {"causes": [{"reason": "ExitCode", "message": "3"}]},
}


class Server:
    """An API server whose only path is exec. ``refusals`` are the statuses of the first answers."""

    def __init__(self, talk: Talk, *, protocols: tuple[str, ...], refusals: list[int]) -> None:
        self.talk = talk
        self.protocols = protocols
        self.refusals = refusals
        self.requests: list[web.BaseRequest] = []
        self.spoken: list[str | None] = []

    async def serve(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        if self.refusals:
            return web.Response(status=self.refusals.pop(0), text="no")
        socket = web.WebSocketResponse(protocols=self.protocols)
        await socket.prepare(request)
        self.spoken.append(socket.ws_protocol)
        await self.talk(socket)
        return socket


@asynccontextmanager
async def serving(
    folder: Path,
    talk: Talk,
    *,
    protocols: tuple[str, ...] = ("v5.channel.k8s.io", "v4.channel.k8s.io"),
    refusals: list[int] | None = None,
) -> AsyncIterator[tuple[Server, Connection]]:
    server = Server(talk, protocols=protocols, refusals=refusals or [])
    app = web.Application()
    app.router.add_get("/{path:.*}", server.serve)
    async with TestServer(app) as running:
        connection = await Connection.from_settings(ApiServer(url=str(running.make_url(""))).kubeconfig(folder))
        try:
            yield server, connection
        finally:
            await connection.aclose()


def says(*frames: bytes, outcome: Any = SUCCESS) -> Talk:
    """Return a server that sends these frames and the outcome (None: no outcome), and closes."""

    async def talk(socket: web.WebSocketResponse) -> None:
        for frame in frames:
            await socket.send_bytes(frame)
        if outcome is not None:
            await socket.send_bytes(b"\x03" + json.dumps(outcome).encode())
        await socket.close()

    return talk


async def run(connection: Connection) -> Executed:
    return await execute(connection, "lab", "moe-0", "main", ["sh", "-c", "a=1 & b"])


async def test_the_request_names_the_container_and_each_word_of_the_command(tmp_path: Path) -> None:
    async with serving(tmp_path, says()) as (server, connection):
        assert await run(connection) == Executed(0, b"", b"")
        (request,) = server.requests
    assert request.path == "/api/v1/namespaces/lab/pods/moe-0/exec"
    assert request.rel_url.query.getall("command") == ["sh", "-c", "a=1 & b"]
    assert dict(request.rel_url.query) | {"command": ""} == {
        "container": "main",
        "stdout": "true",
        "stderr": "true",
        "command": "",
    }
    assert request.headers["Authorization"] == "Bearer secret"
    assert request.headers["Accept"] == "*/*"  # a kubelet answers 406 if JSON alone is accepted


@pytest.mark.parametrize("protocol", ["v5.channel.k8s.io", "v4.channel.k8s.io"])
async def test_output_errors_and_exit_code_are_kept_apart(tmp_path: Path, protocol: str) -> None:
    talk = says(b"\x01", b"\x01one ", b"\x02why", b"\x01two", b"\xff\x01", b"\x07?", outcome=EXITED)
    async with serving(tmp_path, talk, protocols=(protocol,)) as (server, connection):
        assert await run(connection) == Executed(3, b"one two", b"why")
        assert server.spoken == [protocol]


@pytest.mark.parametrize(("status", "kind"), [(403, Forbidden), (404, NotFound), (500, ApiError)])
async def test_a_refusal_is_the_error_of_its_status(tmp_path: Path, status: int, kind: type[ApiError]) -> None:
    async with serving(tmp_path, says(), refusals=[status]) as (_, connection):
        with pytest.raises(kind) as raised:
            await run(connection)
    assert raised.value.status == status


async def test_a_401_is_asked_again_once(tmp_path: Path) -> None:
    async with serving(tmp_path, says(), refusals=[401]) as (server, connection):
        assert (await run(connection)).code == 0
        assert len(server.requests) == 2
    async with serving(tmp_path, says(), refusals=[401, 401, 401]) as (server, connection):
        with pytest.raises(ApiError):
            await run(connection)
        assert len(server.requests) == 2


@pytest.mark.parametrize("outcome", [None, [], "Success", 7])
async def test_an_end_without_an_outcome_is_no_end(tmp_path: Path, outcome: Any) -> None:
    async with serving(tmp_path, says(b"\x01half", outcome=outcome)) as (_, connection):
        with pytest.raises(Unreachable, match="ended before the command"):
            await run(connection)


@pytest.mark.parametrize("code", ["", "-1", "99999", "x", "\uff13"])
async def test_a_failure_without_an_exit_code_is_an_error_in_its_words(tmp_path: Path, code: str) -> None:
    causes = {"details": {"causes": [{"reason": "ExitCode", "message": code}]}}
    outcome = {"status": "Failure", "message": 'exec: "/bin/sh": no such file', "code": 500} | causes
    async with serving(tmp_path, says(outcome=outcome)) as (_, connection):
        with pytest.raises(ApiError, match="no such file"):
            await run(connection)


async def test_endless_output_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "LARGEST", 10)
    async with serving(tmp_path, says(b"\x01" + b"x" * 11)) as (_, connection):
        with pytest.raises(Unreachable, match="more than 10 bytes"):
            await run(connection)


async def test_a_server_that_is_not_there_is_unreachable(tmp_path: Path) -> None:
    async with serving(tmp_path, says()) as (_, connection):
        pass
    with pytest.raises(Unreachable):
        await run(connection)


async def test_a_caller_that_gives_up_leaves_no_socket(tmp_path: Path) -> None:
    opened, left = asyncio.Event(), asyncio.Event()

    async def silent(socket: web.WebSocketResponse) -> None:
        opened.set()
        try:
            await socket.receive()
        finally:
            left.set()

    async with serving(tmp_path, silent) as (_, connection):
        task = asyncio.create_task(run(connection))
        await opened.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await left.wait()


class Late:
    """A WebSocket that opens at once, and delivers an error when the test asks for it."""

    def __init__(self) -> None:
        self.fails = asyncio.Event()

    @asynccontextmanager
    async def socket(self, path: str, *, params: Any, protocols: Any) -> AsyncIterator[Any]:
        assert (path.rpartition("/")[2], params, protocols) == ("portforward", [("ports", "80")], (PROTOCOL,))
        yield self

    async def send_bytes(self, data: bytes) -> None:
        """Take the bytes, and answer nothing."""

    async def __aiter__(self) -> AsyncIterator[Any]:
        await self.fails.wait()
        frame = bytes((ERROR_CHANNEL, 0, 80)) + b"connection refused"
        yield SimpleNamespace(type=aiohttp.WSMsgType.BINARY, data=frame)


async def test_a_failure_after_the_usual_time_is_reported_before_the_connection_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(execution, "LEAST", 0.0)
    sockets, late = Late(), list[ApiError]()
    reader, writer = await dial(sockets, "team", "p", 80, limit=100, late=late.append, carried_by=set())
    assert late == []
    sockets.fails.set()
    assert await reader.read() == b""
    assert [each.message for each in late] == ["connection refused"]
    writer.transport.abort()
