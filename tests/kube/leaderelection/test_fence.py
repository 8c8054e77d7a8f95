"""The fence: the requests that are sent, those that are not, and those that are cancelled in progress."""

import asyncio
import time
from pathlib import Path

import pytest

from muster.api.errors import ApiError, NotFound, Unreachable
from muster.kube.connection import Connection
from muster.kube.leaderelection.elector import Fence, Fenced
from muster.kube.resources import core
from muster.kube.transport import Answer, Around
from tests.fakes.api import FakeApi
from tests.fakes.apiserver import Reply, Request, api_server

PODS = core("a", "pods")


class Clock:
    """The fence's clock, which differs from the loop's."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def hanging() -> tuple[FakeApi, Fence]:
    """Return a server that answers nothing until its gate is set, and a fence."""
    api = FakeApi()
    api.gate.clear()
    return api, Fence(Clock())


async def started(transport: Around) -> "asyncio.Task[Answer]":
    task = asyncio.create_task(transport.request("GET", PODS))
    await asyncio.sleep(0)
    return task


async def test_a_closed_fence_sends_nothing() -> None:
    api = FakeApi()
    with pytest.raises(Fenced, match=f"POST {PODS}: NotLeading: not sent"):
        await Around(api, Fence(Clock()).passing).request("POST", PODS)
    assert api.requests == []


async def test_a_fence_closes_by_the_clock() -> None:
    """Nothing ran since, as in a stopped process."""
    api, clock = FakeApi(), Clock()
    fence = Fence(clock)
    transport = Around(api, fence.passing)
    fence.open_until(1010.0)
    assert (await transport.request("GET", PODS)).status == 200
    clock.now = 1010.0
    assert not fence.open
    with pytest.raises(Fenced):
        await transport.request("GET", PODS)
    assert len(api.requests) == 1


async def test_closing_a_fence_cancels_requests_under_way() -> None:
    api, fence = hanging()
    fence.open_until(Clock.now + 60)
    tasks = [await started(Around(api, fence.passing)) for _ in range(3)]
    assert api.under_way == 3
    fence.close()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(outcome, Unreachable) and outcome.reason == "NotLeading" for outcome in outcomes)
    assert api.under_way == 0


async def test_a_renewal_extends_requests_under_way() -> None:
    api, fence = hanging()
    fence.open_until(Clock.now + 0.03)
    task = await started(Around(api, fence.passing))
    fence.open_until(Clock.now + 60)
    await asyncio.sleep(0.06)
    api.gate.set()
    assert (await task).status == 200


async def test_without_a_renewal_requests_under_way_are_cancelled_in_time() -> None:
    api, fence = hanging()
    fence.open_until(Clock.now + 0.03)
    with pytest.raises(Unreachable, match="stopped leading"):
        await Around(api, fence.passing).request("POST", PODS)


async def test_errors_of_the_transport_pass_the_fence() -> None:
    fence = Fence(Clock())
    fence.open_until(2000.0)
    with pytest.raises(NotFound):
        await Around(FakeApi(), fence.passing).request("GET", f"{PODS}/x")


async def test_watches_need_no_fence() -> None:
    async with Around(FakeApi(), Fence(Clock()).passing).lines(PODS, params={"watch": "true"}, silence=1.0):
        pass


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
