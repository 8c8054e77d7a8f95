"""Logs by rank, over restarts and broken connections."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from muster.api.errors import ApiError, Invalid, NotFound, Unreachable
from muster.client import Client, LogLine, LogNote, LogsGone, NoSuchRank
from muster.client.logs.pod_log import LogStart, PodLog, nanoseconds
from muster.kube.resources import ResourceClient
from muster.kube.transport import Answer
from tests.client.localserver import FIRST_SECOND, MANIFEST, LocalServer, ended, labels, running, waiting


@pytest.fixture
async def client(client: Client) -> Client:
    """The client of a cluster with the experiment ``mine``."""
    await client.submit(MANIFEST, name="mine")
    return client


async def read(lines: AsyncIterator[LogLine]) -> list[tuple[int, str]]:
    return [(line.rank, line.text) async for line in lines]


async def test_logs_of_all_ranks_are_merged_by_time(client: Client, server: LocalServer) -> None:
    for rank, lines in ((1, ("@2 b", "@4 d", "@4 e")), (0, ("@1 a", "@3 c", "@5 f"))):
        server.pod(f"pod-{rank}", labels("mine", rank), prints=lines, **running())
    server.pod("theirs", labels("other", 0), **running())
    merged = [(0, "a"), (1, "b"), (0, "c"), (1, "d"), (1, "e"), (0, "f")]
    assert await read(client.logs("mine")) == merged
    assert await read(client.logs("mine", [1], tail=1)) == [(1, "e")]
    assert await read(client.logs("mine", since=datetime(2026, 1, 1, 0, 0, 4, tzinfo=UTC))) == merged[3:]
    assert await read(client.logs("mine", since=60.0)) == [], "the last minute, not the year it was written in"
    first = await anext(client.logs("mine"))
    assert (first.group, first.epoch, first.pod, first.time) == ("worker", 0, "pod-0", "2026-01-01T00:00:01.5Z")


async def test_more_ranks_than_are_read_at_once_are_merged_all_the_same(client: Client, server: LocalServer) -> None:
    for rank in range(7):
        printed = [f"@{second} {second}" for second in range(rank, 28, 7)]
        server.pod(f"pod-{rank}", labels("mine", rank), prints=printed, **ended(0))
    notes: list[LogNote] = []
    lines = await read(client.logs("mine", at_once=3, noted=notes.append))
    assert [text for _, text in lines] == [str(second) for second in range(28)]
    assert server.logs.most <= 3
    assert [str(note) for note in notes] == [
        "ranks 0-6: 7 logs are read, 3 at a time, before the first line is printed"
    ]


async def test_of_a_large_gang_the_lowest_ranks_are_followed_and_the_others_are_named(
    client: Client, server: LocalServer
) -> None:
    server.status("mine", phase="Running", ready="6/6")
    for rank in reversed(range(6)):
        server.pod(f"pod-{rank}", labels("mine", rank), **running())
        server.print(f"pod-{rank}", "@1 written before")
    notes: list[LogNote] = []
    lines = client.logs("mine", follow=True, at_once=2, noted=notes.append)
    assert [(await anext(lines)).rank for _ in range(2)] == [0, 1]
    assert [str(note) for note in notes] == [
        "ranks 2-5: not followed: at most 2 logs are followed at once; --rank chooses others, --at-once raises it"
    ]
    for rank in range(6):
        server.print(f"pod-{rank}", "@2 the end", ends=True)
        server.pod(f"pod-{rank}", labels("mine", rank), **ended(0))
    server.status("mine", phase="Succeeded", ready="6/6")
    async with asyncio.timeout(10):
        assert sorted(await read(lines)) == [(0, "the end"), (1, "the end")]
    assert server.logs.most <= 2


async def test_ranks_without_a_log_are_named_with_the_reason(client: Client, server: LocalServer) -> None:
    server.status("mine", phase="Running", ready="1/6", completedRanks="4")
    server.pod("pod-0", labels("mine", 0), prints=("here",), **running())
    for rank in (1, 2):
        server.pod(f"pod-{rank}", labels("mine", rank), **waiting("ImagePullBackOff", "no such image"))
    server.pod("pod-3", labels("mine", 3), **running())  # its node has no log of it
    for follow in (False, True):
        notes: list[LogNote] = []
        lines = client.logs("mine", follow=follow, noted=notes.append)
        assert (await anext(lines)).text == "here"
        await lines.aclose()
        assert [str(note) for note in notes][:3] == [
            "ranks 1-2: nothing is logged yet: ImagePullBackOff: no such image",
            "rank 4: it has succeeded, and its pod is gone",
            "rank 5: there is no pod",
        ]
        assert "not found or waiting to start" in str(notes[3])
        assert notes[3].ranks == (3,)


async def test_a_log_that_cannot_be_read_keeps_no_other_from_being_read(client: Client, server: LocalServer) -> None:
    for rank in (0, 1):
        server.pod(f"pod-{rank}", labels("mine", rank), prints=("here",), **running())

    class NodeDown:
        """The kubelet of one node does not answer."""

        request = client.transport.request

        def lines(self, path: str, *, params: Mapping[str, str], silence: float) -> Any:
            if path.endswith("/pod-1/log"):
                raise ApiError("dial tcp 10.0.0.9:10250: i/o timeout", status=500)
            return client.transport.lines(path, params=params, silence=silence)

    notes: list[LogNote] = []
    async with Client(transport=NodeDown()) as half:
        assert await read(half.logs("mine", noted=notes.append)) == [(0, "here")]
    assert [(note.failed, str(note)) for note in notes] == [
        (True, "rank 1: cannot be read: dial tcp 10.0.0.9:10250: i/o timeout")
    ]


async def test_an_epoch_is_read_while_its_pods_exist(client: Client, server: LocalServer) -> None:
    for epoch in (0, 1, 2):
        server.pod(f"pod-{epoch}", labels("mine", 0, epoch=epoch), prints=(f"epoch {epoch}",), **ended(1))
    server.pod("kept", labels("mine", 1, epoch=0), prints=("the culprit",), **ended(1))
    assert await read(client.logs("mine")) == [(0, "epoch 2")], "a pod of an earlier epoch is not part of this one"
    assert await read(client.logs("mine", epoch=0)) == [(0, "epoch 0"), (1, "the culprit")]
    assert await read(client.logs("mine", previous=True)) == [(0, "epoch 1"), (1, "the culprit")]
    server.pod("pod-new", labels("mine", 2, epoch=2), **running())
    with pytest.raises(
        LogsGone, match=r"no log of an earlier epoch or attempt is kept.*muster explain mine -n default"
    ):
        await anext(client.logs("mine", [2], previous=True))
    notes: list[LogNote] = []
    assert len(await read(client.logs("mine", previous=True, noted=notes.append))) == 2
    assert [str(note) for note in notes] == ["rank 2: no pod of an earlier epoch or attempt is kept"]
    server.status("mine", phase="Running", epoch=8)
    with pytest.raises(LogsGone, match="no log of epoch 7 is kept"):
        await anext(client.logs("mine", epoch=7))
    with pytest.raises(LogsGone, match="epoch 9 has not begun: epoch 8 is the latest"):
        await anext(client.logs("mine", epoch=9))
    with pytest.raises(ValueError, match="cannot be followed"):
        await anext(client.logs("mine", epoch=0, follow=True))


async def test_a_followed_log_leaves_out_pods_of_epochs_before(client: Client, server: LocalServer) -> None:
    server.pod("a-kept", labels("mine", 1, epoch=0), prints=("of the epoch before",), **ended(1))
    for rank in (0, 1):
        server.pod(f"pod-{rank}", labels("mine", rank, epoch=1), prints=("now",), **ended(0))
    server.status("mine", phase="Succeeded")
    async with asyncio.timeout(10):
        assert sorted(await read(client.logs("mine", follow=True))) == [(0, "now"), (1, "now")]


async def test_an_error_says_why_there_is_no_log(client: Client, server: LocalServer) -> None:
    with pytest.raises(NoSuchRank, match=r"default/mine: it has no pods now"):
        await anext(client.logs("mine"))
    known = {"type": "PodScheduled", "status": "False"}
    condition = {**known, "reason": "Unschedulable", "message": "0/1 nodes have a GPU"}
    server.pod("pod-0", labels("mine", 0), phase="Pending", conditions=[condition])
    with pytest.raises(NoSuchRank, match=r"rank 0 \(pod-0\) is Unschedulable: 0/1 nodes have a GPU"):
        await anext(client.logs("mine", [0]))
    with pytest.raises(NoSuchRank, match="rank 7 has no pod"):
        await anext(client.logs("mine", [7]))
    server.status("mine", phase="Running", ready="2/2")
    with pytest.raises(NoSuchRank, match="there is no rank 7: it has 2, counted from 0"):
        await anext(client.logs("mine", [7]))


async def test_following_continues_over_a_restart_until_the_end(client: Client, server: LocalServer) -> None:
    server.status("mine", phase="Running")
    server.pod("old-0", labels("mine", 0), **running())
    server.print("old-0", "before", "first")
    lines = client.logs("mine", follow=True, tail=1)
    assert (await anext(lines)).text == "first"
    server.print("old-0", "crash", ends=True)
    assert (await anext(lines)).text == "crash"
    server.pod("old-0", labels("mine", 0), **ended(1))
    server.pod("new-0", labels("mine", 0, epoch=1), **running())
    server.print("new-0", "again", "and on", ends=True)
    again = [await anext(lines) for _ in range(2)]
    assert [(line.text, line.epoch) for line in again] == [("again", 1), ("and on", 1)], "from its beginning"
    server.pod("new-0", labels("mine", 0, epoch=1), **ended(0))
    server.status("mine", phase="Succeeded")
    async with asyncio.timeout(10):
        assert await read(lines) == []


async def test_an_empty_log_of_a_pod_that_is_kept_is_not_called_gone(client: Client, server: LocalServer) -> None:
    """As of a rank that was killed before its program wrote a line."""
    server.pod("new-0", labels("mine", 0, epoch=1), **running())
    server.pod("old-0", labels("mine", 0), **ended(137))
    server.print("old-0", ends=True)
    assert await read(client.logs("mine", previous=True)) == []


async def test_the_log_of_the_previous_attempt_of_a_rank_that_was_run_again(
    client: Client, server: LocalServer
) -> None:
    for epoch, attempt in ((0, 0), (1, 0), (1, 1)):
        printed = (f"epoch {epoch}, attempt {attempt}",)
        server.pod(f"pod-{epoch}-{attempt}", labels("mine", 0, epoch, attempt), prints=printed, **ended(1))
    server.pod("other", labels("mine", 1, epoch=1), **running())
    notes: list[LogNote] = []
    assert await read(client.logs("mine", previous=True, noted=notes.append)) == [(0, "epoch 1, attempt 0")]
    assert [str(note) for note in notes] == ["rank 1: no pod of an earlier epoch or attempt is kept"]


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

    async def followed(self, tail: int | None = None) -> list[str]:
        """The lines of a pod's log, to its end."""
        log = PodLog(ResourceClient(self), "default", "pod", at_once)
        return [text async for _, text in log.follow(LogStart(tail=tail))]


def stamped(*texts: str) -> list[str | Exception]:
    """Lines of the first seconds of 2026; each begins with its second."""
    return [f"2026-01-01T00:00:0{text}" for text in texts]


async def test_a_broken_log_resumes_without_losing_or_repeating_a_line() -> None:
    torn = Torn(
        [Invalid("container is waiting to start", status=400)],
        [*stamped("1Z a", "1.5Z b", "1.5Z c"), Unreachable("reset")],
        stamped("1Z a", "1.5Z b", "1.5Z c", "1.5Z d", "1.51Z e"),
        stamped("1.51Z e", "2Z f"),
        stamped("2Z f"),
    )
    assert await torn.followed(tail=9) == list("abcdef")
    assert [(p.get("sinceTime"), p.get("tailLines")) for p in torn.asked] == [
        (None, "9"),
        (None, "9"),
        ("2026-01-01T00:00:01Z", None),
        ("2026-01-01T00:00:01Z", None),
        ("2026-01-01T00:00:02Z", None),
    ]


async def test_a_deleted_pod_ends_its_log() -> None:
    torn = Torn([*stamped("1Z a"), Unreachable("reset")], [NotFound("gone", status=404)])
    assert await torn.followed() == ["a"]


async def test_a_step_back_of_the_nodes_clock_loses_no_line() -> None:
    torn = Torn(stamped("9Z a", "2Z b", "3Z c"), stamped("3Z c", "3Z d"), [])
    assert await torn.followed() == list("abcd")


async def test_a_line_too_long_to_be_read_ends_the_log_and_is_not_asked_for_again_and_again() -> None:
    torn = Torn([*stamped("1Z a"), Unreachable("a line of more than 16 MiB", reason="TooLong")])
    with pytest.raises(Unreachable, match="16 MiB"):
        await torn.followed()
    assert len(torn.asked) == 1


async def test_a_message_of_the_kubelet_itself_has_no_time() -> None:
    torn = Torn(["unable to retrieve container logs for containerd://1"], [], [])
    log = PodLog(ResourceClient(torn), "default", "pod", at_once)
    assert [each async for each in log.read(LogStart())] == [
        ("", "unable to retrieve container logs for containerd://1")
    ]


@pytest.mark.parametrize(
    ("stamp", "seconds"),
    [
        ("2026-01-01T00:00:01Z", 1.0),
        ("2026-01-01T00:00:01.000000005Z", 1.000000005),
        ("2026-01-01T01:00:01.5+01:00", 1.5),
        ("2026-01-01T00:00:01", None),
        ("2026-01-01T00:00:01.5", None),
        ("2026-01-01T00:00:01.0000000001Z", None),
        ("9999-99-99T00:00:00Z", None),
        ("step 7 of the training", None),
        ("", None),
    ],
)
def test_times_are_compared_to_the_nanosecond(stamp: str, seconds: float | None) -> None:
    wanted = None if seconds is None else FIRST_SECOND * 10**9 + round(seconds * 10**9)
    assert nanoseconds(stamp) == wanted
