"""The connection against servers that refuse, stall, truncate and send invalid data."""

import asyncio
import json
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from muster.api.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    NotFound,
    Throttled,
    Unreachable,
)
from muster.kube.connection import Connection
from muster.kube.transport import error_from_answer
from tests.fakes.apiserver import (
    ApiServer,
    Reply,
    Request,
    Step,
    answer,
    api_server,
    chunks,
    hang,
    refusal,
    slam,
    stream,
)


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


async def connect(server: ApiServer, directory: Path) -> Connection:
    return await Connection.from_settings(server.kubeconfig(directory))


@asynccontextmanager
async def connected(
    directory: Path, *script: Step, otherwise: Step | None = None, time: Time | None = None
) -> AsyncIterator[tuple[ApiServer, Connection]]:
    """Yield a server that plays the script, and a connection to it."""
    async with api_server(*script, otherwise=otherwise) as server:
        connection = await connect(server, directory)
        if time is not None:
            await connection.aclose()
            connection = Connection(connection.credentials, clock=time, sleep=time.sleep)
        yield server, connection
        await connection.aclose()


async def read(connection: Connection, silence: float = 5.0) -> list[bytes]:
    async with connection.lines("/api/v1/pods", params={"watch": "true"}, silence=silence) as lines:
        return [line async for line in lines]


async def read_into(seen: list[bytes], connection: Connection, silence: float = 5.0) -> None:
    async with connection.lines("/w", params={}, silence=silence) as lines:
        async for line in lines:
            seen.append(line)


async def test_a_request_has_user_agent_token_and_exactly_its_parameters(tmp_path: Path) -> None:
    async with connected(tmp_path, answer(201, {"ok": True})) as (server, connection):
        params = {"labelSelector": "a=b,c in (d)", "fieldManager": "muster", "odd": "x&y=z +%"}
        got = await connection.request("POST", "/api/v1/namespaces/n/pods", params=params, body=b'{"a":1}')
    assert (got.status, got.body) == (201, b'{"ok": true}')
    (request,) = server.requests
    assert (request.method, request.path, request.body) == ("POST", "/api/v1/namespaces/n/pods", b'{"a":1}')
    assert request.params == params
    assert request.headers["authorization"] == "Bearer secret"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["user-agent"] == "muster"
    assert connection.requests == {("POST", 201): 1}


async def test_of_what_is_read_as_metadata_alone_nothing_else_is_asked_for(tmp_path: Path) -> None:
    async with connected(tmp_path, answer(200, {}), answer(200, {}), stream(b"{}"), answer(200, {})) as (
        server,
        connection,
    ):
        await connection.request("GET", "/api/v1/pods")
        connection.metadata_alone = ("/api/v1/pods",)
        await connection.request("GET", "/api/v1/pods")
        assert await read(connection) == [b"{}"]
        await connection.request("POST", "/api/v1/pods", body=b"{}")
    plain, listed, watched, posted = (request.headers["accept"] for request in server.requests)
    assert listed == "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
    assert watched == "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
    assert plain == posted == "application/json"


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (404, "NotFound", NotFound),
        (409, "AlreadyExists", AlreadyExists),
        (409, "Conflict", Conflict),
        (410, "Expired", Expired),
        (403, "Forbidden", Forbidden),
        (401, "Unauthorized", Forbidden),
        (400, "BadRequest", Invalid),
        (422, "Invalid", Invalid),
        (500, "InternalError", ApiError),
        (302, "Found", ApiError),
    ],
)
async def test_each_status_code_has_its_error_class(
    tmp_path: Path, status: int, reason: str, kind: type[ApiError]
) -> None:
    async with connected(tmp_path, otherwise=refusal(status, reason, "because\nof \x1b[31mthis")) as (_, connection):
        with pytest.raises(ApiError) as caught:
            await connection.request("GET", "/x")
        with pytest.raises(kind):
            await read(connection)
    assert type(caught.value) is kind
    assert (caught.value.status, caught.value.reason, caught.value.request) == (status, reason, "GET /x")
    assert caught.value.message == "because of �[31mthis"


@pytest.mark.parametrize(
    "body", [b"", b"<html>bad gateway</html>", b"\xff" * 200_000, b"[" * 90_000, b'{"code": "x"}', b"null"]
)
async def test_an_error_without_a_status_object_has_a_message(tmp_path: Path, body: bytes) -> None:
    async with connected(tmp_path, answer(502, body)) as (_, connection):
        with pytest.raises(ApiError) as caught:
            await connection.request("GET", "/x")
    assert caught.value.status == 502
    assert 0 < len(caught.value.message) <= 1024
    assert caught.value.message.isprintable()


async def test_a_throttled_request_is_sent_again_after_retry_after_and_not_before(tmp_path: Path) -> None:
    time = Time()
    asked_at: list[float] = []

    async def note(request: Request, reply: Reply) -> None:
        asked_at.append(time.now)
        busy = refusal(429, "TooManyRequests", Retry_After="7")
        await (busy if len(asked_at) < 3 else answer(200, {}))(request, reply)

    async with connected(tmp_path, otherwise=note, time=time) as (_, connection):
        again: list[tuple[str, str]] = []
        connection.retried = lambda method, path: again.append((method, path))
        await connection.request("POST", "/x", body=b"{}")
    assert asked_at == [1000.0, 1007.0, 1014.0]
    assert again == [("POST", "/x")] * 2


async def test_a_retry_after_beyond_the_timeout_is_raised(tmp_path: Path) -> None:
    time = Time()
    async with connected(tmp_path, refusal(503, "ServiceUnavailable", Retry_After="31"), time=time) as (_, connection):
        with pytest.raises(Throttled) as caught:
            await connection.request("GET", "/x")
    assert caught.value.retry_after == 31.0
    assert time.slept == []


async def test_the_number_of_retries_is_bounded(tmp_path: Path) -> None:
    time = Time()
    async with connected(tmp_path, otherwise=refusal(429, "TooManyRequests", Retry_After="1"), time=time) as (
        server,
        connection,
    ):
        with pytest.raises(Throttled):
            await connection.request("GET", "/x", timeout=1000)
    assert len(server.requests) == 11


async def test_a_write_that_may_have_been_carried_out_is_not_sent_again(tmp_path: Path) -> None:
    async with connected(tmp_path, refusal(504, "Timeout", Retry_After="1"), time=Time()) as (server, connection):
        with pytest.raises(Throttled):
            await connection.request("POST", "/x", body=b"{}")
    assert len(server.requests) == 1


@pytest.mark.parametrize("header", ["-1", "1e9", "soon", "Wed, 21 Oct 2026 07:28:00 GMT", "9" * 400, "²"])
async def test_an_invalid_retry_after_is_ignored(tmp_path: Path, header: str) -> None:
    async with connected(tmp_path, refusal(429, "TooManyRequests", Retry_After=header), time=Time()) as (_, connection):
        with pytest.raises(Throttled) as caught:
            await connection.request("GET", "/x")
    assert caught.value.retry_after is None


async def test_a_silent_server_ends_a_request_at_its_timeout(tmp_path: Path) -> None:
    async with connected(tmp_path, otherwise=hang) as (_, connection):
        with pytest.raises(Unreachable, match=r"no answer within 0.1 s"):
            await connection.request("GET", "/x", timeout=0.1)
        with pytest.raises(Unreachable) as caught:
            await read(connection, silence=0.1)
    assert caught.value.reason == "Silent"
    assert connection.requests == {("GET", 0): 1, ("WATCH", 0): 1}


@pytest.mark.parametrize(
    ("sent", "whole", "reason"),
    [
        (stream(b"one", b"two", then="stall"), [b"one", b"two"], "Silent"),
        (chunks(b'{"a":1}\n{"b"', b":2}"), [b'{"a":1}'], "Truncated"),
        (stream(b"one", then="reset"), [b"one"], "Broken"),
    ],
    ids=["it is silent", "it ends within a line", "the connection is reset"],
)
async def test_a_watch_that_breaks_has_given_its_whole_lines_and_is_unreachable(
    tmp_path: Path, sent: Step, whole: list[bytes], reason: str
) -> None:
    seen: list[bytes] = []
    async with connected(tmp_path, sent) as (_, connection):
        with pytest.raises(Unreachable) as caught:
            await read_into(seen, connection, silence=0.3)
    assert (seen, caught.value.reason) == (whole, reason)


async def test_a_refused_connection_is_unreachable_and_named_with_the_file_of_its_address(tmp_path: Path) -> None:
    async with api_server() as server:
        pass
    connection = await connect(server, tmp_path)
    with pytest.raises(Unreachable, match=rf"{server.url} \(from {tmp_path}/kubeconfig\): .*is the cluster running"):
        await connection.request("GET", "/x")
    with pytest.raises(Unreachable):
        await read(connection)
    await connection.aclose()
    with pytest.raises(Unreachable, match="closed"):
        await connection.request("GET", "/x")


async def test_a_connection_closed_without_an_answer_is_unreachable(tmp_path: Path) -> None:
    async with connected(tmp_path, otherwise=slam) as (_, connection):
        for call in (connection.request("GET", "/x"), connection.request("POST", "/x", body=b"{}"), read(connection)):
            with pytest.raises(Unreachable):
                await call


@pytest.mark.parametrize(
    "head",
    [b"HTTP/9.9 what\r\n\r\n", b"\x00\x01\x02\r\n\r\n", b"SSH-2.0-x\r\n", b"HTTP/1.1 200 OK\r\n" + b"a" * 99_999],
)
async def test_an_answer_that_is_not_http_is_unreachable(tmp_path: Path, head: bytes) -> None:
    async def garbage(_request: Request, reply: Reply) -> None:
        await reply.raw(head)
        reply.writer.close()

    async with connected(tmp_path, otherwise=garbage) as (_, connection):
        with pytest.raises(Unreachable):
            await connection.request("GET", "/x")
        with pytest.raises(Unreachable):
            await read(connection)


async def test_lines_are_whole_whatever_the_chunks(tmp_path: Path) -> None:
    async with connected(tmp_path, chunks(b"fir", b"st\nsec", b"ond", b"\n\n\nth", b"ird\n")) as (_, connection):
        assert await read(connection) == [b"first", b"second", b"third"]


def log(*parts: bytes, then: str = "end") -> Step:
    """Answer with a pod's log: chunks of plain text."""

    async def step(_request: Request, reply: Reply) -> None:
        await reply.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
        for part in parts:
            await reply.chunk(part)
        await (reply.end() if then == "end" else hang(_request, reply))

    return step


async def test_a_log_keeps_its_empty_lines_and_a_last_line_without_a_newline(tmp_path: Path) -> None:
    async with connected(tmp_path, log(b"one\n\nth", b"ree\n", b"last")) as (_, connection):
        assert await read(connection) == [b"one", b"", b"three", b"last"]


async def test_a_followed_log_may_be_silent_without_limit(tmp_path: Path) -> None:
    async with (
        connected(tmp_path, log(b"one\n", then="stall")) as (_, connection),
        connection.lines("/log", params={"follow": "true"}, silence=math.inf) as lines,
    ):
        assert await anext(lines) == b"one"


async def test_a_line_of_five_megabytes_passes_and_one_beyond_the_limit_does_not(tmp_path: Path) -> None:
    large = b"x" * 5_000_000
    endless = [b"y" * 2**20] * 17
    async with connected(tmp_path, stream(large, b"after"), chunks(*endless)) as (_, connection):
        assert await read(connection) == [large, b"after"]
        with pytest.raises(Unreachable) as caught:
            await read(connection)
    assert caught.value.reason == "TooLong"


@pytest.mark.parametrize(("status", "kind"), [(b"200 OK", Unreachable), (b"409 Conflict", Conflict)])
async def test_a_truncated_answer_is_unreachable_unless_its_status_is_an_error(
    tmp_path: Path, status: bytes, kind: type[ApiError]
) -> None:
    async def short(_request: Request, reply: Reply) -> None:
        await reply.raw(b"HTTP/1.1 " + status + b"\r\nContent-Length: 100\r\n\r\nhalf")
        reply.writer.close()

    async with connected(tmp_path, short) as (_, connection):
        with pytest.raises(kind):
            await connection.request("PUT", "/x", body=b"{}")


async def test_an_answer_beyond_the_size_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.kube.connection.LARGEST_ANSWER", 1000)
    async with connected(tmp_path, answer(200, b"x" * 1000), answer(200, b"x" * 1001)) as (_, connection):
        await connection.request("GET", "/x")
        with pytest.raises(Unreachable, match="more than 1000 bytes"):
            await connection.request("GET", "/x")


async def test_leaving_a_watch_early_closes_it(tmp_path: Path) -> None:
    async with connected(tmp_path, stream(b"one", b"two", then="stall"), answer(200, {})) as (_, connection):
        async with connection.lines("/w", params={}, silence=5) as lines:
            assert await anext(lines) == b"one"
        await connection.request("GET", "/x")


async def test_a_path_is_quoted_and_cannot_contain_steps(tmp_path: Path) -> None:
    async with connected(tmp_path, otherwise=answer(200, {})) as (server, connection):
        await connection.request("GET", "/api/v1/pods/a?b#c d", params={"x": "1"})
        for path in ("/api/v1/../secrets", "api", "/./x", ""):
            with pytest.raises(Invalid, match="not a path"):
                await connection.request("GET", path)
    (request,) = server.requests
    assert request.path == "/api/v1/pods/a%3Fb%23c%20d"
    assert request.params == {"x": "1"}


async def test_a_path_prefix_of_the_server_is_kept(tmp_path: Path) -> None:
    async with api_server(answer(200, {})) as server:
        file = server.kubeconfig(tmp_path)
        file.write_text(file.read_text().replace(server.url, server.url + "/k8s/clusters/c-1/"))
        connection = await Connection.from_settings(file)
        await connection.request("GET", "/api")
        await connection.aclose()
    assert server.requests[0].path == "/k8s/clusters/c-1/api"


async def test_a_cancelled_request_raises_cancelled_error(tmp_path: Path) -> None:
    arrived = asyncio.Event()

    async def note(request: Request, reply: Reply) -> None:
        arrived.set()
        await hang(request, reply)

    async with connected(tmp_path, otherwise=note) as (_, connection):
        task = asyncio.create_task(connection.request("GET", "/x"), name="request")
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_cookies_and_redirects_are_ignored(tmp_path: Path) -> None:
    async with api_server(
        answer(200, {}, Set_Cookie="a=b"), answer(302, {}, Location="http://127.0.0.1:1/steal"), answer(200, {})
    ) as server:
        connection = await connect(server, tmp_path)
        await connection.request("GET", "/1")
        with pytest.raises(ApiError) as caught:
            await connection.request("GET", "/2")
        await connection.request("GET", "/3")
        await connection.aclose()
    assert caught.value.status == 302
    assert "cookie" not in server.requests[2].headers


def test_the_http_status_comes_before_the_code_in_the_body() -> None:
    error = error_from_answer(404, {}, json.dumps({"code": 410, "reason": "NotFound"}).encode(), "GET /x")
    assert type(error) is NotFound


@pytest.mark.parametrize(
    "body", [b'{"error":"sign in first"}', b'{"error":{"code":401,"status":"sign in first"}}', b"sign in first"]
)
def test_an_answer_that_is_no_status_keeps_its_text(body: bytes) -> None:
    """Proxies and gateways in front of an API server answer so."""
    assert error_from_answer(401, {}, body, "GET /x").message == body.decode()


async def test_every_request_of_an_impersonating_connection_names_the_user(tmp_path: Path) -> None:
    async with api_server(answer(200, {})) as server:
        plain = await connect(server, tmp_path)
        connection = Connection(plain.credentials, impersonate="ann")
        await connection.request("GET", "/api/v1/pods")
        await plain.aclose()
        await connection.aclose()
    (request,) = server.requests
    assert request.headers["impersonate-user"] == "ann"
