"""Requests that a standby forwards to the leader: servers of pages on loopback, each with its own reviews."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientError, ClientResponse, ClientSession, DummyCookieJar, TCPConnector, web
from structlog.testing import capture_logs
from yarl import URL

from muster.daemon.web import forwarding
from muster.daemon.web import server as http
from muster.daemon.web.bundles import Bundles
from muster.daemon.web.certificate import ServerCertificate
from muster.daemon.web.connections import Limits, Listener
from muster.daemon.web.forwarding import Leader
from muster.daemon.web.live import Changes, StreamLimits, Streams
from muster.daemon.web.pages import Pages
from muster.daemon.web.progress import PASSED_ON
from muster.daemon.web.readers import Anyone, TokenAuthenticator
from muster.daemon.web.reviews import Reviews
from muster.daemon.web.server import HttpServer
from muster.kube.authentication.credentials import ClusterAccess
from muster.metrics.collector import Subject
from muster.metrics.instruments import Instruments
from muster.rollcall.document import NodeListing
from muster.state.vocabulary.record import Record
from tests.builders import NOW, plan, record, view
from tests.daemon.web.ground import Api
from tests.daemon.web.subjects import Daemon
from tests.fakes.certificates import Authority

LEADING, STANDING_BY = "leading as one", "standing by; one leads"
PAGES = (
    "/",
    "/?phase=Running",
    "/experiments.json?limit=1",
    "/incidents.json",
    "/nodes.json",
    "/experiments/red/watched",
    "/experiments/red/watched.json",
    "/experiments/red/watched.tar.gz",
    "/experiments/red/nothing",
    "/experiments/green/hidden",
)
PROGRAM = (sys.executable, "-c", "import sys; sys.stdin.read(); sys.stdout.write('archive')")


class Role(Daemon):
    """A daemon that names its role at the foot of its pages."""

    words = LEADING

    def role(self) -> str:
        return self.words


@dataclass
class Replica:
    """One musterd: its API server, what it knows, and the leader that it sees."""

    daemon: Role
    api: Api
    server: HttpServer
    streams: Streams
    port: int = 0
    leader: str = ""

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


@dataclass
class World:
    """Replicas, and a reader with a token."""

    replicas: list[Replica] = field(default_factory=list)
    listeners: list[Listener] = field(default_factory=list)
    session: ClientSession = field(default_factory=lambda: ClientSession(auto_decompress=False))

    async def start(self, words: str, *runs: Subject, leader: str = "", **options: Any) -> Replica:
        """Start one more replica; with ``leader`` it is a standby of that one."""
        certificate, limits = options.pop("certificate", None), options.pop("limits", StreamLimits())
        api = Api(rights={("alice", verb, "red") for verb in ("get", "list")})
        daemon, streams = Role(list(runs)), Streams(Changes(), limits, pause=0.0)
        daemon.words = words
        seen: list[Replica] = []
        options.setdefault("authenticator", TokenAuthenticator(Reviews(api, lambda: 0.0)))
        server = HttpServer(
            Instruments("1", tracked_pods=lambda: 0, queue_depth=lambda: 0).registry,
            daemon,
            Pages(daemon, daemon.role, lambda: NOW, known_nodes=options.pop("nodes", NodeListing)),
            "127.0.0.1",
            0,
            streams=streams,
            names={"muster.example.com"},
            tls=certificate.context if certificate else None,
            leader=Leader(lambda: seen[0].leader, certificate),
            **options,
        )
        seen.append(Replica(daemon, api, server, streams, await server.start(), leader))
        self.replicas += seen
        return seen[0]

    async def pair(self) -> tuple[Replica, Replica]:
        """Return a leader, which alone knows a watched run, and its standby."""
        bundles = Bundles(lambda token: ClusterAccess("http://127.0.0.1:1", f"Bearer {token}"), PROGRAM)
        nodes: Callable[[], NodeListing] = lambda: NodeListing(looked=True)  # noqa: E731
        leader = await self.start(LEADING, run("watched"), run("hidden", "green"), bundles=bundles, nodes=nodes)
        return leader, await self.start(STANDING_BY, leader=leader.address)

    async def listener(self, answer: Any, tls: Any = None) -> str:
        """Start a leader that answers by that function. Return its address."""
        one = Listener(answer, "127.0.0.1", 0, Limits(), tls)
        self.listeners.append(one)
        return f"127.0.0.1:{await one.start()}"

    def asks(self, replica: Replica, path: str, method: str = "GET", token: str = "alice's", **headers: str) -> Any:
        sent = {"Authorization": f"Bearer {token}"} | headers
        url = URL(f"http://{replica.address}{path}", encoded=True)
        return self.session.request(method, url, headers=sent, allow_redirects=False)

    async def read(self, replica: Replica, path: str, method: str = "GET", **headers: str) -> tuple[int, Any, bytes]:
        """Return status, headers and body of an answer."""
        async with self.asks(replica, path, method, **headers) as answer:
            return (
                answer.status,
                sorted(set(answer.headers.items()) - {("Date", answer.headers["Date"])}),
                await answer.read(),
            )


def run(name: str, namespace: str = "red", told: Record | None = None) -> Subject:
    return Subject(plan(namespace=namespace, name=name), told or record(), view())


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    yield world
    await world.session.close()
    for replica in world.replicas:
        await replica.server.stop()
    for listener in world.listeners:
        await listener.stop()


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("path", PAGES)
async def test_a_standby_gives_the_answer_of_the_leader(world: World, path: str, method: str, encoding: str) -> None:
    leader, standby = await world.pair()
    options = {"method": method, "Accept-Encoding": encoding}
    straight, led = await world.read(leader, path, **options), await world.read(standby, path, **options)
    assert led == straight
    assert led[0] == (404 if path.endswith("nothing") else 403 if "green" in path else 200)


async def test_an_answer_is_not_compressed_unless_its_reader_asks(world: World) -> None:
    _, standby = await world.pair()
    plain = ClientSession(skip_auto_headers=("Accept-Encoding",), auto_decompress=False)
    sent = {"Authorization": "Bearer alice's"}
    async with plain, plain.get(f"http://{standby.address}/experiments/red/watched", headers=sent) as answer:
        assert LEADING in await answer.text()


@pytest.mark.parametrize("path", ["/metrics", "/livez", "/readyz", "/page.js", "/runbooks/", "/nothing"])
async def test_a_standby_answers_by_itself_what_is_its_own(world: World, path: str) -> None:
    asked: list[str] = []

    async def leader(request: web.BaseRequest) -> web.Response:
        asked.append(request.path)
        return web.Response(status=500)

    standby = await world.start(STANDING_BY, leader=await world.listener(leader))
    assert (await world.read(standby, path))[0] in (200, 403, 404)
    assert asked == []


async def test_the_leader_gets_what_its_answer_depends_on_and_nothing_else(world: World) -> None:
    seen: list[web.BaseRequest] = []

    async def leader(request: web.BaseRequest) -> web.Response:
        seen.append(request)
        return web.Response(text="led", headers={"X-Own": "kept", "Keep-Alive": "timeout=1"})

    standby = await world.start(STANDING_BY, leader=await world.listener(leader))
    kept = {"Host": "muster.example.com", "X-Forwarded-Proto": "https", "Sec-Fetch-Site": "none", "Last-Event-ID": "7"}
    async with world.asks(standby, "/experiments.json?a=%2F&b=1", Cookie="a=b", **kept) as answer:
        assert (await answer.read(), answer.headers["X-Own"]) == (b"led", "kept")
        assert "Keep-Alive" not in answer.headers
    (request,) = seen
    assert request.raw_path == "/experiments.json?a=%2F&b=1"
    assert {name: request.headers[name] for name in kept} == kept
    assert (request.headers["Authorization"], request.headers[PASSED_ON]) == ("Bearer alice's", "1")
    assert "Cookie" not in request.headers


@pytest.mark.parametrize("seen", ["", "127.0.0.1:1", "127.0.0.1:port"])
async def test_without_a_leader_that_answers_a_standby_shows_its_own_page(world: World, seen: str) -> None:
    standby = await world.start(STANDING_BY, run("own"), leader=seen)
    with capture_logs() as logs:
        for _ in range(2):
            status, _, body = await world.read(standby, "/experiments/red/own", **{"Accept-Encoding": "identity"})
            assert (status, STANDING_BY.encode() in body) == (200, True)
    assert [each["event"] for each in logs] == ["the leader's page does not answer, serving my own"] * bool(seen)


@pytest.mark.parametrize(("limit", "page"), [("ANSWER", 200), ("ANSWER_WITHIN", 503)])
async def test_a_page_does_not_wait_long_for_the_leader_and_a_bundle_does(
    world: World, monkeypatch: pytest.MonkeyPatch, limit: str, page: int
) -> None:
    begun, going = asyncio.Event(), asyncio.Event()

    async def leader(request: web.BaseRequest) -> web.Response:
        if not request.path.endswith(".tar.gz"):
            await asyncio.Event().wait()
        begun.set()
        await going.wait()
        return web.Response(text="bundle")

    monkeypatch.setattr(forwarding if limit == "ANSWER" else http, limit, 0.05)
    standby = await world.start(STANDING_BY, run("own"), leader=await world.listener(leader))
    bundle = asyncio.create_task(world.read(standby, "/experiments/red/own.tar.gz"))
    await begun.wait()
    status, _, body = await world.read(standby, "/experiments/red/own", **{"Accept-Encoding": "identity"})
    assert (status, STANDING_BY.encode() in body) == (page, page == 200)
    going.set()
    assert (await bundle)[2] == b"bundle"


async def test_a_request_is_forwarded_once(world: World) -> None:
    three = await world.start("third", run("own"))
    two = await world.start("second", run("own"), leader=three.address)
    one = await world.start("first", run("own"), leader=two.address)
    _, _, body = await world.read(one, "/experiments/red/own", **{"Accept-Encoding": "identity"})
    assert b"second" in body


async def test_a_name_or_a_token_that_the_standby_refuses_does_not_reach_the_leader(world: World) -> None:
    leader, standby = await world.pair()
    assert (await world.read(standby, "/", Host="evil.example.com"))[0] == 421
    assert (await world.read(standby, "/", token="stolen"))[0] == 401
    assert leader.api.asked == []


async def test_the_rights_of_a_reader_are_the_leaders_verdict(world: World) -> None:
    leader, standby = await world.pair()
    standby.api.rights, leader.api.rights = leader.api.rights, set()
    assert (await world.read(standby, "/experiments/red/watched.json"))[0] == 403
    assert [each["token"] for each in standby.api.asked] == ["alice's"], "the standby asks for no right"


async def test_a_standby_that_asks_for_no_token_gives_what_the_leader_gives(world: World) -> None:
    leader = await world.start(LEADING, run("watched"))
    standby = await world.start(STANDING_BY, run("watched"), leader=leader.address, authenticator=Anyone())
    async with world.session.get(f"http://{standby.address}/experiments/red/watched.json") as answer:
        assert answer.status == 401


async def test_a_leader_that_asks_for_no_token_answers_nothing_that_is_forwarded(world: World) -> None:
    """On one machine the standby is a peer on loopback, and its reader may be anywhere."""
    leader = await world.start(LEADING, run("watched"), authenticator=Anyone())
    standby = await world.start(STANDING_BY, run("own"), leader=leader.address)
    assert (await world.read(standby, "/experiments/red/watched.json"))[0] == 404
    assert (await world.read(standby, "/experiments/red/own.json"))[0] == 200
    assert (await world.read(leader, "/experiments/red/watched.json"))[0] == 200


async def ends(stream: ClientResponse) -> None:
    """Read a stream to its end, in good order or not."""
    async with asyncio.timeout(10):
        with suppress(ClientError):
            await stream.content.read()


async def none_open(*replicas: Replica) -> None:
    async with asyncio.timeout(10):
        while any(each.streams.open for each in replicas):  # noqa: ASYNC110
            await asyncio.sleep(0)


async def test_a_stream_brings_the_changes_that_the_leader_sees(world: World) -> None:
    leader, standby = await world.pair()
    async with world.asks(standby, "/events/experiments/red/watched") as stream:
        assert (stream.status, stream.content_type) == (200, "text/event-stream")
        assert stream.headers["X-Accel-Buffering"] == "no"
        assert LEADING.encode() in await stream.content.readuntil(b"event: parts") + await stream.content.readuntil(
            b"\n\n"
        )
        leader.daemon.here = [run("watched", told=record(message="rank 3 is missing"))]
        leader.streams.changes.changed(leader.daemon.here[0].plan.uid)
        async with asyncio.timeout(10):
            assert b"rank 3 is missing" in await stream.content.readuntil(b"rank 3 is missing")
        assert (leader.streams.open, standby.streams.open) == (1, 1)
    await none_open(leader, standby)


@pytest.mark.parametrize("stopped", [0, 1], ids=["leader", "standby"])
async def test_a_stream_ends_when_either_side_stops(world: World, stopped: int) -> None:
    pair = await world.pair()
    async with world.asks(pair[1], "/events/") as stream:
        await stream.content.readuntil(b"event: parts")
        await pair[stopped].server.stop()
        await ends(stream)
    await none_open(*pair)


async def test_a_stream_is_opened_again_when_another_daemon_leads(world: World) -> None:
    """The one that led knows less from then on; the browser's next stream is led to the other one."""
    leader, standby = await world.pair()
    for opened in (leader, standby):
        async with world.asks(opened, "/events/") as stream:
            await stream.content.readuntil(b"event: parts")
            leader.leader = "127.0.0.1:1"
            leader.streams.changes.everything()
            await ends(stream)
        leader.leader = ""
    await none_open(leader, standby)


async def test_streams_count_for_their_reader_at_the_standby(world: World) -> None:
    leader, _ = await world.pair()
    standby = await world.start(STANDING_BY, leader=leader.address, limits=StreamLimits(per_reader=1))
    async with world.asks(standby, "/events/") as stream, world.asks(standby, "/events/") as another:
        assert (stream.status, another.status) == (200, 503)


def pair_of_files(folder: Path) -> ServerCertificate:
    """Return a certificate that no authority of this machine has issued."""
    folder.mkdir()
    return ServerCertificate(*Authority().issue("musterd.example.com").write(folder, "tls"))


@pytest.mark.parametrize("same", [True, False])
async def test_with_tls_the_leader_has_the_certificate_of_the_standby(world: World, tmp_path: Path, same: bool) -> None:
    mine, other = pair_of_files(tmp_path / "mine"), pair_of_files(tmp_path / "other")
    asked: list[str] = []

    async def leader(request: web.BaseRequest) -> web.Response:
        asked.append(request.headers["Authorization"])
        return web.Response(text=LEADING)

    address = await world.listener(leader, (mine if same else other).context)
    standby = await world.start(STANDING_BY, run("own"), leader=address, certificate=mine)
    url = f"https://{standby.address}/experiments/red/own"
    async with (
        ClientSession(connector=TCPConnector(ssl=False), cookie_jar=DummyCookieJar()) as session,
        session.get(url, headers={"Authorization": "Bearer alice's"}) as answer,
    ):
        assert ((LEADING if same else STANDING_BY) in await answer.text(), answer.status) == (True, 200)
    assert asked == ["Bearer alice's"] * same
