"""Probes that an annotation states, against real servers on loopback."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import grpc.aio
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from muster.state.view.roll import CoordinatorState, RankState, RollAnswer
from muster.state.vocabulary.group import ProbeKind
from muster.watchers.probes.jax.rpc import integer_field
from muster.watchers.probes.stated import StatedProbe

SERVING, UNHEALTHY = CoordinatorState.SERVING, CoordinatorState.UNHEALTHY

NEVER = b"never"
"""The answer of a server that never answers."""


async def ask(kind: ProbeKind, port: int, path: str = "") -> RollAnswer:
    probe = StatedProbe(f"127.0.0.1:{port}", kind=kind, path=path, clock=lambda: 7.0, deadline=1.0)
    try:
        return await probe.snapshot()
    finally:
        await probe.close()


@asynccontextmanager
async def http_server() -> AsyncIterator[tuple[int, list[str]]]:
    """Yield the port of a server that answers ``/STATUS`` with that status and a redirect, and the paths asked for."""
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.raw_path)
        return web.Response(status=int(request.path.strip("/") or 200), headers={"Location": "/500"})

    app = web.Application()
    app.router.add_get("/{status:.*}", answer)
    async with TestServer(app) as server:
        assert server.port is not None
        yield server.port, asked


@asynccontextmanager
async def grpc_server(answer: Callable[[], bytes] | None) -> AsyncIterator[int]:
    """Yield a gRPC server whose health service gives that answer; without one it has no such service."""

    async def check(_request: bytes, _context: object) -> bytes:
        assert answer is not None
        said = answer()
        if said is NEVER:
            await asyncio.Event().wait()
        return said

    server = grpc.aio.server()
    if answer is not None:
        handlers = {"Check": grpc.unary_unary_rpc_method_handler(check)}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("grpc.health.v1.Health", handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield port
    finally:
        await server.stop(0)


async def test_an_open_port_serves() -> None:
    async with http_server() as (port, asked):
        answer = await ask(ProbeKind.TCP, port)
    assert (answer.coordinator, answer.states, answer.at) == (SERVING, (RankState.ARRIVED,), 7.0)
    assert asked == [], "it sends nothing"
    assert not answer.passed, "it proves of no other member that it has arrived"
    assert "shows only whether the coordinator serves" in answer.partial


@pytest.mark.parametrize("kind", [ProbeKind.TCP, ProbeKind.HTTP, ProbeKind.GRPC])
async def test_a_closed_port_is_refused(kind: ProbeKind, closed: int) -> None:
    answer = await ask(kind, closed)
    assert (answer.coordinator, answer.states) == (CoordinatorState.REFUSED, ())


@pytest.mark.parametrize(
    ("path", "state"), [("", SERVING), ("/204", SERVING), ("/302", SERVING), ("/404", UNHEALTHY), ("/503", UNHEALTHY)]
)
async def test_an_http_server_serves_if_its_status_says_so(path: str, state: CoordinatorState) -> None:
    async with http_server() as (port, asked):
        answer = await ask(ProbeKind.HTTP, port, path)
    assert answer.coordinator is state
    assert asked == [path or "/"], "a redirect is not followed"


@pytest.mark.parametrize(
    "path", ["//169.254.169.254/latest", "/@169.254.169.254/", "/..%2f..%2f", "/?to=http://10.0.0.9"]
)
async def test_whatever_the_path_the_pod_itself_is_asked(path: str) -> None:
    async with http_server() as (port, asked):
        await ask(ProbeKind.HTTP, port, path)
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (lambda: integer_field(1, 1), SERVING),
        (lambda: integer_field(1, 2), UNHEALTHY),
        (lambda: b"", UNHEALTHY),
        (lambda: b"\xff\xff\xff", CoordinatorState.OTHER_PROTOCOL),
        (None, UNHEALTHY),
    ],
)
async def test_a_grpc_server_serves_if_its_health_service_says_so(
    answer: Callable[[], bytes] | None, state: CoordinatorState
) -> None:
    async with grpc_server(answer) as port:
        assert (await ask(ProbeKind.GRPC, port)).coordinator is state


async def test_what_speaks_no_grpc_is_another_protocol() -> None:
    async with http_server() as (port, _):
        assert (await ask(ProbeKind.GRPC, port)).coordinator is CoordinatorState.OTHER_PROTOCOL


def test_a_name_is_no_address() -> None:
    with pytest.raises(ValueError, match="use the pod IP"):
        StatedProbe("metadata.internal:80", kind=ProbeKind.HTTP, path="/", clock=lambda: 0.0)


async def test_a_grpc_server_without_an_answer_does_not_serve() -> None:
    async with grpc_server(lambda: NEVER) as port:
        answer = await ask(ProbeKind.GRPC, port)
    assert answer.coordinator is CoordinatorState.TIMEOUT
    assert answer.detail.startswith("speaks HTTP/2, but /grpc.health.v1.Health/Check got no answer: DEADLINE_EXCEEDED")
