"""The HTTP server, asked over a real socket: methods, paths, sizes, times and the log."""

import asyncio

import pytest
from aiohttp import ClientSession
from structlog.testing import capture_logs

from muster.daemon.web import server as http
from muster.daemon.web.live import Changes, Streams
from muster.daemon.web.pages import Pages
from muster.daemon.web.server import HttpServer
from muster.metrics.instruments import Instruments
from tests.builders import NOW
from tests.daemon.web.subjects import Daemon, serving

HOUR = 3600.0


async def test_unknown_paths_and_names_are_not_found(client: ClientSession) -> None:
    for path in ("/nothing", "/experiments/team/run", "/experiments/team/run.json", "/experiments/a/b/c", "/..%2fetc"):
        async with client.get(path) as response:
            assert (response.status, response.content_type) == (404, "text/plain")


async def test_only_reading_is_allowed(client: ClientSession) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        async with client.request(method, "/") as response:
            assert (response.status, response.headers["Allow"]) == (405, "GET, HEAD")
    async with client.head("/") as response:
        assert (response.status, await response.read()) == (200, b"")
    async with client.get("/", data=b"x" * 100_000) as response:
        assert response.status == 413


async def raw(server: str, sent: bytes) -> bytes:
    """Return the server's answer to these bytes before it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(server.rsplit(":", 1)[1]))
    try:
        writer.write(sent)
        async with asyncio.timeout(5):
            return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


async def test_strangers_cannot_fill_the_log_but_our_own_faults_are_logged(server: str, daemon: Daemon) -> None:
    with capture_logs() as logs:
        assert b" 400 " in await raw(server, b"\x16\x03\x01 not HTTP\r\n\r\n")
        assert b" 400 " in await raw(server, b"GET / HTTP/1.1\r\nContent-Length: many\r\n\r\n")
        assert logs == []
        daemon.here = None  # type: ignore[assignment]
        assert b" 500 " in await raw(server, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert [entry["event"] for entry in logs] == ["a request could not be answered"]


async def test_a_stream_ends_with_its_connection_though_it_has_nothing_to_send(daemon: Daemon) -> None:
    streams = Streams(Changes(), pause=HOUR, heartbeat=HOUR)
    async with serving(daemon, streams=streams) as address:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rsplit(":", 1)[1]))
        writer.write(b"GET /events/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
        async with asyncio.timeout(10):
            await reader.readuntil(b"event: parts")
            assert streams.open == 1
            writer.transport.abort()
            while streams.open:  # noqa: ASYNC110
                await asyncio.sleep(0)


async def test_an_answer_that_takes_too_long_is_given_up(
    daemon: Daemon, client: ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def forever(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(http, "ANSWER_WITHIN", 0.05)
    monkeypatch.setattr(asyncio, "to_thread", forever)
    async with client.get("/metrics") as response:
        assert (response.status, response.headers["Refresh"]) == (503, "5")
        said = "musterd is busy and has not answered within 0.05 s. A browser asks again in 5 s.\n"
        assert await response.text() == said
    monkeypatch.undo()
    async with client.get("/metrics") as response:
        assert response.status == 200


async def test_a_port_that_is_taken_is_an_error_and_leaves_nothing_open(server: str, daemon: Daemon) -> None:
    registry = Instruments("1", tracked_pods=lambda: 0, queue_depth=lambda: 0).registry
    port = int(server.rsplit(":", 1)[1])
    with pytest.raises(OSError, match=str(port)):
        await HttpServer(registry, daemon, Pages(daemon, daemon.role, lambda: NOW), "127.0.0.1", port).start()


HOST = b"Host: localhost\r\n"
BEHIND = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
LENGTH = str(len(BEHIND)).encode()

AMBIGUOUS = {
    "length and chunks": b"Content-Length: " + LENGTH + b"\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": b"Content-Length: 0\r\nContent-Length: " + LENGTH + b"\r\n\r\n",
    "a list of lengths": b"Content-Length: 0, " + LENGTH + b"\r\n\r\n",
    "a signed length": b"Content-Length: +" + LENGTH + b"\r\n\r\n",
    "a space before the colon": b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "another coding": b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunked twice": b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "a folded line": b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "a bare line feed in a value": b"X: a\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a nul in a value": b"X: a\x00b\r\n\r\n",
    "a body of that length": b"Content-Length: " + LENGTH + b"\r\n\r\n",
    "chunks": b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
}
"""The text after the Host header, up to the second request."""


@pytest.mark.parametrize("name", AMBIGUOUS)
async def test_a_request_hidden_behind_another_is_not_answered(server: str, name: str) -> None:
    answered = await raw(server, b"GET / HTTP/1.1\r\n" + HOST + AMBIGUOUS[name] + BEHIND)
    assert b"muster_build_info" not in answered
    assert answered.count(b"HTTP/1.1 ") <= 1
    assert answered.startswith((b"HTTP/1.1 400 ", b"HTTP/1.0 400 ", b"HTTP/1.1 413 ")) or not answered


@pytest.mark.parametrize(
    "hosts",
    [b"", b"Host: evil.example\r\n" + HOST, HOST + HOST, b"Host: localhost, evil.example\r\n", b"Host:\r\n"],
    ids=["none", "two", "the same twice", "a list", "empty"],
)
async def test_a_request_names_one_host(server: str, hosts: bytes) -> None:
    answered = await raw(server, b"GET / HTTP/1.1\r\n" + hosts + b"Connection: close\r\n\r\n")
    assert answered.startswith((b"HTTP/1.1 400 ", b"HTTP/1.0 400 "))


@pytest.mark.parametrize("target", [b"//evil.example/", b"/../../etc/passwd", b"/%2e%2e/page.js"])
async def test_the_target_of_a_request_names_a_path_of_this_server_only(server: str, target: bytes) -> None:
    answered = await raw(server, b"GET " + target + b" HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
    head, _, body = answered.partition(b"\r\n\r\n")
    assert b"root:" not in body
    assert head.split(b" ")[1] in (b"200", b"400", b"404", b"421")
    assert b"Location:" not in head


@pytest.mark.parametrize("target", [b"http://evil.example/", b"http://localhost/metrics", b"*", b"evil.example:80"])
async def test_a_target_that_is_no_path_is_refused_whatever_the_host_header(server: str, target: bytes) -> None:
    answered = await raw(server, b"GET " + target + b" HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
    assert answered.startswith((b"HTTP/1.1 400 ", b"HTTP/1.0 400 "))


async def test_no_answer_may_be_kept_by_a_cache_or_read_by_another_site(server: str) -> None:
    for path in (b"/", b"/metrics", b"/experiments.json", b"/page.js", b"/livez", b"/nothing", b"/events/nothing"):
        answered = await raw(server, b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
        head = answered.partition(b"\r\n\r\n")[0].decode()
        assert "Cache-Control: no-store" in head, path
        assert "Cross-Origin-Resource-Policy: same-origin" in head
        assert "Referrer-Policy: no-referrer" in head
        assert "X-Content-Type-Options: nosniff" in head
        assert "Access-Control-Allow-Origin" not in head
        assert "Set-Cookie" not in head
