"""The fence: the requests that are sent, those that are not, and those that are cancelled in progress."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from muster.api.errors import ApiError, NotFound, Unreachable
from muster.kube.connection import Connection
from muster.kube.leaderelection.elector import Fence, Fenced
from muster.kube.transport import Answer, Around
from tests.fakes.apiserver import Reply, Request, api_server


class Wire:
    """A transport that answers once ``answer`` is set; ``sent`` has every request."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.given_up = 0
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    async def request(self, method: str, path: str, **_: Any) -> Answer:
        self.sent.append(f"{method} {path}")
        try:
            return await asyncio.shield(self.answer)
        except asyncio.CancelledError:
            self.given_up += 1
            raise

    def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise NotFound("watched")


class Clock:
    """The fence's clock, which differs from the loop's."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


async def started(transport: Around) -> "asyncio.Task[Answer]":
    task = asyncio.create_task(transport.request("POST", "/pods"))
    await asyncio.sleep(0)
    return task


async def test_a_closed_fence_sends_nothing() -> None:
    wire = Wire()
    transport = Around(wire, Fence(Clock()).passing)
    with pytest.raises(Fenced, match=r"POST /pods: NotLeading: not sent"):
        await transport.request("POST", "/pods")
    assert wire.sent == []


async def test_a_fence_closes_by_the_clock() -> None:
    """Nothing ran since, as in a stopped process."""
    wire, clock = Wire(), Clock()
    fence = Fence(clock)
    transport = Around(wire, fence.passing)
    fence.open_until(1010.0)
    wire.answer.set_result(Answer(200, b"x"))
    assert (await transport.request("POST", "/pods")).body == b"x"
    clock.now = 1010.0
    assert not fence.open
    with pytest.raises(Fenced):
        await transport.request("POST", "/pods")
    assert len(wire.sent) == 1


async def test_closing_a_fence_cancels_requests_under_way() -> None:
    wire, clock = Wire(), Clock()
    fence = Fence(clock)
    fence.open_until(clock.now + 60)
    tasks = [await started(Around(wire, fence.passing)) for _ in range(3)]
    fence.close()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(outcome, Unreachable) and outcome.reason == "NotLeading" for outcome in outcomes)
    assert wire.given_up == 3


async def test_a_renewal_extends_requests_under_way() -> None:
    wire, clock = Wire(), Clock()
    fence = Fence(clock)
    fence.open_until(clock.now + 0.03)
    task = await started(Around(wire, fence.passing))
    fence.open_until(clock.now + 60)
    await asyncio.sleep(0.06)
    wire.answer.set_result(Answer(200, b""))
    assert (await task).status == 200


async def test_without_a_renewal_requests_under_way_are_cancelled_in_time() -> None:
    wire, clock = Wire(), Clock()
    fence = Fence(clock)
    fence.open_until(clock.now + 0.03)
    with pytest.raises(Unreachable, match="stopped leading"):
        await Around(wire, fence.passing).request("POST", "/pods")


async def test_errors_of_the_transport_pass_the_fence() -> None:
    wire, fence = Wire(), Fence(Clock())
    fence.open_until(2000.0)
    wire.answer.set_exception(NotFound("no such thing"))
    with pytest.raises(NotFound):
        await Around(wire, fence.passing).request("GET", "/pods/x")


async def test_watches_need_no_fence() -> None:
    with pytest.raises(NotFound, match="watched"):
        Around(Wire(), Fence(Clock()).passing).lines("/pods", params={}, silence=1.0)


async def test_a_request_is_not_sent_again_after_the_process_was_suspended(tmp_path: Path) -> None:
    """The server asks for a wait of a second; meanwhile the whole process is stopped until its time is over."""
    asked: list[str] = []
    came = asyncio.Event()

    async def busy(request: Request, reply: Reply) -> None:
        asked.append(request.method)
        came.set()
        await reply.send(429, b"{}", Retry_After="1")

    async with api_server(otherwise=busy) as server:
        connection = await Connection.from_settings(server.kubeconfig(tmp_path))
        fence = Fence(time.monotonic)
        fence.open_until(time.monotonic() + 1.3)
        task = asyncio.create_task(Around(connection, fence.passing).request("POST", "/api/v1/namespaces/a/pods"))
        await came.wait()
        await asyncio.sleep(0.1)  # its answer is read
        time.sleep(1.6)  # noqa: ASYNC251 - as SIGSTOP does, for everything in this process
        with pytest.raises(ApiError):
            await task
        await asyncio.sleep(0.1)
        assert asked == ["POST"]
        await connection.aclose()
