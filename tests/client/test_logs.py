"""Logs by rank, over restarts and broken connections."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from muster.api.errors import Invalid, NotFound, Unreachable
from muster.client import Client, LogsGone, NoSuchRank
from muster.client.podlog import PodLog
from muster.kube.resources import ResourceClient
from muster.kube.transport import Answer
from tests.client.localserver import MANIFEST, LocalServer, ended, labels, running


async def test_logs_are_read_rank_by_rank(client: Client, server: LocalServer) -> None:
    await client.submit(MANIFEST, name="mine")
    for rank in (1, 0):
        server.pod(f"pod-{rank}", labels("mine", rank), **running())
        server.print(f"pod-{rank}", "one", "two", ends=True)
    server.pod("theirs", labels("other", 0), **running())
    assert [line async for line in client.logs("mine")] == [(0, "one"), (0, "two"), (1, "one"), (1, "two")]
    assert [line async for line in client.logs("mine", [1], tail=1)] == [(1, "two")]


async def test_an_error_says_why_there_is_no_log(client: Client, server: LocalServer) -> None:
    await client.submit(MANIFEST, name="mine")
    with pytest.raises(NoSuchRank, match=r"default/mine: it has no pods now"):
        await anext(client.logs("mine"))
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1 nodes have a GPU",
    }
    server.pod("pod-0", labels("mine", 0), phase="Pending", conditions=[condition])
    with pytest.raises(NoSuchRank, match=r"rank 0 \(pod-0\) is Unschedulable: 0/1 nodes have a GPU"):
        await anext(client.logs("mine", [0]))
    with pytest.raises(NoSuchRank, match="rank 7 has no pod"):
        await anext(client.logs("mine", [7]))


async def test_following_continues_over_a_restart_until_the_end(client: Client, server: LocalServer) -> None:
    await client.submit(MANIFEST, name="mine")
    server.status("mine", phase="Running")
    server.pod("old-0", labels("mine", 0), **running())
    server.print("old-0", "first")
    lines = client.logs("mine", follow=True)
    assert await anext(lines) == (0, "first")
    server.print("old-0", "crash", ends=True)
    assert await anext(lines) == (0, "crash")
    server.pod("old-0", labels("mine", 0), **ended(1))
    server.pod("new-0", labels("mine", 0, epoch=1), **running())
    server.print("new-0", "again", ends=True)
    assert await anext(lines) == (0, "again")
    server.pod("new-0", labels("mine", 0, epoch=1), **ended(0))
    server.status("mine", phase="Succeeded")
    async with asyncio.timeout(10):
        assert [line async for line in lines] == []


async def test_following_a_finished_experiment_reads_its_log(client: Client, server: LocalServer) -> None:
    await client.submit(MANIFEST, name="mine")
    server.pod("pod-0", labels("mine", 0), **ended(0))
    server.print("pod-0", "done", ends=True)
    server.status("mine", phase="Succeeded")
    async with asyncio.timeout(10):
        assert [line async for line in client.logs("mine", follow=True)] == [(0, "done")]


async def test_the_log_of_the_previous_epoch_is_read_while_its_pods_exist(client: Client, server: LocalServer) -> None:
    await client.submit(MANIFEST, name="mine")
    server.pod("new-0", labels("mine", 0, epoch=1), **running())
    with pytest.raises(LogsGone, match=r"no log of an earlier epoch is kept.*muster explain mine"):
        await anext(client.logs("mine", previous=True))
    server.pod("old-0", labels("mine", 0), **ended(1))
    server.print("old-0", "last words", ends=True)
    assert [line async for line in client.logs("mine", previous=True)] == [(0, "last words")]


async def at_once(_: float) -> None:
    """Sleep without time."""


class Torn:
    """A server whose log streams break; ``streams`` are played in turn, each an error or lines and then an error."""

    def __init__(self, *streams: list[str | Exception]) -> None:
        self.streams = list(streams)
        self.asked: list[Mapping[str, str]] = []
        self.ended = False

    async def request(self, *_: Any, **__: Any) -> Answer:
        phase = b"Succeeded" if self.ended else b"Running"
        return Answer(200, b'{"metadata": {"name": "pod"}, "status": {"phase": "%s"}}' % phase)

    @asynccontextmanager
    async def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        self.asked.append(params)
        script = self.streams.pop(0)

        async def play() -> AsyncIterator[bytes]:
            for step in script:
                if isinstance(step, Exception):
                    raise step
                yield step.encode()
            self.ended = len(self.streams) <= 1

        yield play()


async def test_a_broken_log_resumes_without_losing_or_repeating_a_line() -> None:
    torn = Torn(
        [Invalid("container is waiting to start", status=400)],
        ["2026-01-01T00:00:01Z a", "2026-01-01T00:00:01.5Z b", "2026-01-01T00:00:01.5Z c", Unreachable("reset")],
        [
            "2026-01-01T00:00:01Z a",
            "2026-01-01T00:00:01.5Z b",
            "2026-01-01T00:00:01.5Z c",
            "2026-01-01T00:00:01.5Z d",
            "2026-01-01T00:00:01.51Z e",
        ],
        ["2026-01-01T00:00:01.51Z e", "2026-01-01T00:00:02Z f"],
        ["2026-01-01T00:00:02Z f"],
    )
    log = PodLog(ResourceClient(torn), "default", "pod", at_once)
    assert [line async for line in log.follow(tail=9)] == list("abcdef")
    assert [(p.get("sinceTime"), p.get("tailLines")) for p in torn.asked] == [
        (None, "9"),
        (None, "9"),
        ("2026-01-01T00:00:01Z", None),
        ("2026-01-01T00:00:01Z", None),
        ("2026-01-01T00:00:02Z", None),
    ]


async def test_a_deleted_pod_ends_its_log() -> None:
    torn = Torn(["2026-01-01T00:00:01Z a", Unreachable("reset")], [NotFound("gone", status=404)])
    assert [line async for line in PodLog(ResourceClient(torn), "default", "pod", at_once).follow()] == ["a"]
