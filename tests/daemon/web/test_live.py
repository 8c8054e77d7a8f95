"""Streams of live pages: their times, their content, their bounds, and their readers."""

import asyncio
import gc
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
import pytest
from aiohttp import ClientError, ClientResponse

from muster.api.errors import Unreachable
from muster.daemon.app import Daemon
from muster.daemon.web.live import HEARTBEAT, PAUSE, TAKE, Changes, Ended, StreamLimits, Streams
from muster.daemon.web.page.document import version
from muster.daemon.web.page.html import Part, element, part
from muster.daemon.web.pages import Pages
from muster.daemon.web.readers import Anyone, Refused
from tests.daemon.test_leader_daemon import Musterd, until
from tests.daemon.virtual_daemon import RUN, Cluster, as_test, experiment, in_virtual_time, seen_by, virtually
from tests.daemon.web.ground import Ground
from tests.fakes.api import FakeApi


@dataclass
class Reader:
    """A page with two parts, and a browser that follows it. ``sent`` has each update, and its time."""

    streams: Streams
    words: list[str] = field(default_factory=lambda: ["one", "two"])
    sent: list[tuple[float, str]] = field(default_factory=list)
    rendered: list[float] = field(default_factory=list)
    refused: str = ""
    deaf: bool = False
    seen: str = ""

    def page(self) -> Part:
        return part("main", "main", *(part("p", f"p{n}", word) for n, word in enumerate(self.words)))

    async def render(self) -> Part:
        if self.refused:
            raise Ended(self.refused)
        self.rendered.append(asyncio.get_running_loop().time())
        return self.page()

    async def take(self, data: bytes) -> None:
        if self.deaf:
            await asyncio.Event().wait()
        self.sent.append((asyncio.get_running_loop().time(), data.decode()))

    def follow(self, uid: str = "u") -> asyncio.Task[None]:
        return asyncio.create_task(self.streams.serve(uid, self.seen or version(self.page()), self.render, self.take))

    @property
    def parts(self) -> list[list[str]]:
        """Return the ids of the parts of each event."""
        return [[each for each, _ in parts(text)] for _, text in self.sent if text.startswith("event: parts")]


def parts(text: str) -> list[tuple[str, str]]:
    """Return id and HTML of each part of an event."""
    data = next(line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: "))
    return msgspec.json.decode(data, type=list[tuple[str, str]])


def played(story: Callable[[Reader], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        await story(Reader(Streams(Changes())))

    in_virtual_time(run())


to_a_reader = partial(as_test, play=played)


@to_a_reader
async def test_only_what_changed_is_sent_and_its_version_with_it(reader: Reader) -> None:
    task = reader.follow()
    await asyncio.sleep(5)
    assert reader.parts == []
    reader.words[1] = "three"
    reader.streams.changes.changed("u")
    await asyncio.sleep(0.1)
    assert reader.parts == [["p1"]]
    assert parts(reader.sent[-1][1]) == [("p1", '<p id="p1">three</p>')]
    assert f"\nid: {version(reader.page())}\n" in reader.sent[-1][1]
    task.cancel()


@to_a_reader
async def test_a_reader_of_another_version_is_sent_the_whole_page(reader: Reader) -> None:
    reader.seen = "older"
    task = reader.follow()
    await asyncio.sleep(0.1)
    assert reader.parts == [["main"]]
    task.cancel()


@to_a_reader
async def test_many_changes_are_one_update_a_second(reader: Reader) -> None:
    task = reader.follow()
    for number in range(100):
        reader.words[0] = str(number)
        reader.streams.changes.changed("u")
        await asyncio.sleep(0.1)
    assert 5 <= len(reader.parts) <= 11
    gaps = [later - earlier for earlier, later in zip(reader.rendered, reader.rendered[1:], strict=False)]
    assert min(gaps) >= PAUSE
    task.cancel()


@to_a_reader
async def test_a_change_of_another_experiment_wakes_the_fleet_alone(reader: Reader) -> None:
    fleet = Reader(reader.streams)
    tasks = [reader.follow("u"), fleet.follow("")]
    await asyncio.sleep(3)
    reader.words[0] = fleet.words[0] = "new"
    reader.streams.changes.changed("other")
    await asyncio.sleep(3)
    assert (reader.parts, fleet.parts) == ([], [["p0"]])
    for task in tasks:
        task.cancel()


@to_a_reader
async def test_a_quiet_stream_is_rendered_and_heard_of_every_heartbeat(reader: Reader) -> None:
    task = reader.follow()
    await asyncio.sleep(10 * HEARTBEAT)
    comments = [text for _, text in reader.sent if text.startswith(":")]
    assert 9 <= len(comments) <= 11
    task.cancel()


@to_a_reader
async def test_a_reader_who_may_not_read_any_more_is_sent_nothing_but_that(reader: Reader) -> None:
    task = reader.follow()
    await asyncio.sleep(1)
    reader.refused, reader.words[0] = "alice may not\nget experiments", "secret"
    await asyncio.sleep(2 * HEARTBEAT)
    assert task.done()
    assert reader.sent[-1][1] == "event: refused\ndata: alice may not\ndata: get experiments\n\n"
    assert "secret" not in "".join(text for _, text in reader.sent)


@to_a_reader
async def test_a_reader_who_does_not_take_what_it_is_sent_is_dropped(reader: Reader) -> None:
    task = reader.follow()
    await asyncio.sleep(2)
    reader.deaf, reader.words[0] = True, "new"
    reader.streams.changes.changed("u")
    await asyncio.sleep(TAKE + 1)
    assert task.done()
    with pytest.raises(TimeoutError):
        task.result()


@to_a_reader
async def test_the_streams_end_when_the_server_does(reader: Reader) -> None:
    task = reader.follow()
    await asyncio.sleep(0.5)
    reader.streams.changes.close()
    await asyncio.sleep(0.1)
    assert task.done()
    assert task.exception() is None
    with pytest.raises(Refused), reader.streams.admitted("peer", "alice"):
        pass


def test_streams_are_counted_in_all_by_peer_and_by_reader() -> None:
    streams = Streams(Changes(), StreamLimits(streams=3, per_peer=2, per_reader=1))
    with streams.admitted("a", "alice"):
        with pytest.raises(Refused), streams.admitted("b", "alice"):
            pass
        with streams.admitted("a", "bob"):
            with pytest.raises(Refused), streams.admitted("a", "carol"):
                pass
            with streams.admitted("b", "carol"), pytest.raises(Refused), streams.admitted("c", "dora"):
                pass
            assert streams.open == 2
    assert streams.open == 0
    with streams.admitted("b", "alice"):
        assert streams.open == 1


@pytest.mark.parametrize(("others", "pause"), [(0, 10.0), (20, 40.0)])
@to_a_reader
async def test_a_page_that_costs_much_is_rendered_less_often(
    reader: Reader, monkeypatch: pytest.MonkeyPatch, others: int, pause: float
) -> None:
    """All streams of such pages have a quarter of a processor."""
    spent = iter(range(1000))
    monkeypatch.setattr("muster.daemon.web.live.thread_time", lambda: next(spent) * 0.5)  # half a second each
    with ExitStack() as beside:
        for number in range(others):
            beside.enter_context(reader.streams.admitted("peer", f"reader-{number}"))
        task = reader.follow()
        for _ in range(int(22.5 * pause)):
            reader.streams.changes.changed("u")
            await asyncio.sleep(0.1)
    assert reader.rendered == [0.0, pause, 2 * pause]
    task.cancel()


@to_a_reader
async def test_between_two_renderings_a_stream_holds_no_page(reader: Reader) -> None:
    reader.words = [f"word {number} of this test" for number in range(50)]
    task = reader.follow()
    await asyncio.sleep(5)
    assert reader.rendered
    kept = [each for each in gc.get_objects() if isinstance(each, Part) and "of this test" in each.html]
    assert kept == []
    task.cancel()


@virtually
async def test_a_stream_follows_a_whole_daemon(cluster: Cluster, daemon: Daemon) -> None:
    """From the create of the object to the roll: each change of the page is sent within two seconds."""
    pages = Pages(daemon, daemon.health.role, cluster.wall)
    cluster.api.put(RUN, experiment())
    await asyncio.sleep(1)
    found = seen_by(daemon)
    reader = Reader(Streams(daemon.changes))

    async def render() -> Part:
        subject = seen_by(daemon)
        return pages.experiment(Anyone(), subject, {})[0]

    task = asyncio.create_task(reader.streams.serve(found.plan.uid, "", render, reader.take))
    for rank in range(4):
        await asyncio.sleep(3)
        before = len(reader.parts)
        cluster.start(rank)
        await asyncio.sleep(2)
        assert any("ranks-0" in each or "main" in each for each in reader.parts[before:]), rank
    task.cancel()


def test_a_change_of_the_leader_wakes_every_stream() -> None:
    async def play() -> None:
        api = FakeApi(asyncio.get_running_loop().time, nodes=True)
        one, two = Musterd(api, "one"), Musterd(api, "two")
        await until(lambda: one.leads or two.leads)
        first, second = (one, two) if one.leads else (two, one)
        reader = Reader(Streams(second.daemon.changes))

        async def render() -> Part:
            return part("main", "main", element("p", second.daemon.health.role()))

        task = asyncio.create_task(reader.streams.serve("u", "", render, reader.take))
        await asyncio.sleep(3)
        assert "standing by" in reader.sent[-1][1] + reader.sent[1][1]
        await first.stop()
        await until(lambda: second.leads)
        await asyncio.sleep(2)
        assert "leading as" in reader.sent[-1][1]
        task.cancel()
        await second.stop()

    in_virtual_time(play())


async def test_a_stream_is_for_the_readers_of_its_page(ground: Ground) -> None:
    ground.api.rights |= {("alice", "get", "red"), ("alice", "list", "red")}
    assert (await ground.get("/events/experiments/red/run"))[0] == 401
    assert (await ground.get("/events/"))[0] == 401
    status, text = await ground.get("/events/experiments/green/run", "alice's")
    assert status == 403
    assert "secret" not in text
    assert (await ground.get("/events/experiments/red/nothing", "alice's"))[0] == 404
    assert (await ground.get("/events/nothing", "alice's"))[0] == 404
    sign_in = {"Authorization": "Bearer alice's"}
    async with ground.session.get("/events/?version=older", headers=sign_in) as stream:
        assert stream.status == 200
        assert stream.content_type == "text/event-stream"
        assert stream.headers["Content-Security-Policy"].startswith("default-src 'none'")
        first = (await stream.content.readuntil(b"\n\n")) + await stream.content.readuntil(b"\n\n")
        assert b"secret of red" in first
        assert b"secret of green" not in first


async def test_a_stream_ends_when_the_right_or_the_token_does(ground: Ground) -> None:
    ground.api.rights |= {("alice", "get", "red"), ("bob", "get", "red")}
    for user, lost in (("alice", "right"), ("bob", "token")):
        async with ground.session.get(
            "/events/experiments/red/run", headers={"Authorization": f"Bearer {user}'s"}
        ) as stream:
            await stream.content.readuntil(b"\n\n")
            if lost == "right":
                ground.api.rights.remove((user, "get", "red"))
            else:
                del ground.api.users[f"{user}'s"]
            ground.now += 61  # the remembered answers are forgotten
            async with asyncio.timeout(10):
                rest = await stream.content.read()
        assert b"event: refused" in rest, lost


async def until_cut(stream: ClientResponse) -> bytes:
    """Return the bytes until the server cuts the connection."""
    received = b""
    try:
        while part := await stream.content.readany():
            received += part
    except ClientError:
        return received
    raise AssertionError("the stream ended in good order")


async def test_a_stream_is_cut_and_not_refused_while_no_right_can_be_checked(ground: Ground) -> None:
    ground.api.rights.add(("alice", "get", "red"))
    sign_in = {"Authorization": "Bearer alice's"}
    async with ground.session.get("/events/experiments/red/run", headers=sign_in) as stream:
        await stream.content.readuntil(b"\n\n")
        ground.api.problem = Unreachable("connection refused")
        ground.now += 61  # the remembered answers are forgotten
        async with asyncio.timeout(10):
            received = await until_cut(stream)
    assert b"event: refused" not in received
    assert (await ground.get("/events/experiments/red/run", "alice's"))[0] == 503
