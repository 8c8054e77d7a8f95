"""Who may read what on the HTTP port, asked over a real socket; the reviews are answered by a pretended API server."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from aiohttp import ClientError, ClientResponse, ClientSession
from structlog.testing import capture_logs

from muster.api.errors import ApiError, Forbidden, Unreachable
from muster.daemon.web import reviews
from muster.daemon.web.live import Changes, Streams
from muster.daemon.web.readers import Anyone, Refused, TokenAuthenticator, check_host, is_loopback, token_of
from muster.daemon.web.reviews import Reviews
from muster.daemon.web.server import HttpServer
from muster.kube.transport import Answer
from muster.metrics.collector import Subject
from muster.metrics.instruments import Instruments
from muster.state.plan import Plan
from muster.state.policies.deadline import ends
from muster.state.record import Record
from muster.state.rules import ClockName
from tests.builders import NOW, plan, record, view


@dataclass
class Api:
    """Reviews tokens and accesses. ``rights`` holds (user, verb, namespace or path)."""

    users: dict[str, str] = field(default_factory=lambda: {"alice's": "alice", "bob's": "bob", "root's": "root"})
    rights: set[tuple[str, str, str]] = field(default_factory=set)
    problem: ApiError | None = None
    garbage: bytes = b""
    asked: list[dict[str, Any]] = field(default_factory=list)
    waiting: int = 0
    most: int = 0

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        timeout: float | None = None,
    ) -> Answer:
        assert (method, params, content_type) == ("POST", None, "application/json")
        assert timeout is not None
        assert body is not None
        spec = msgspec.json.decode(body)["spec"]
        self.asked.append(spec)
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        await asyncio.sleep(0)
        self.waiting -= 1
        if self.problem is not None:
            raise self.problem
        if self.garbage:
            return Answer(201, self.garbage)
        return Answer(201, msgspec.json.encode({"status": self._status(path, spec)}))

    def _status(self, path: str, spec: dict[str, Any]) -> dict[str, Any]:
        if path == reviews.TOKEN_REVIEWS:
            user = self.users.get(spec["token"])
            if user is None:
                return {"error": "invalid bearer token"}
            return {
                "authenticated": True,
                "user": {"username": user, "uid": "u", "groups": ["g"], "extra": {"k": ["v"]}},
            }
        assert path == reviews.ACCESS_REVIEWS
        assert (spec["uid"], spec["groups"], spec["extra"]) == ("u", ["g"], {"k": ["v"]})
        if "nonResourceAttributes" in spec:
            asked = spec["nonResourceAttributes"]["verb"], spec["nonResourceAttributes"]["path"]
        else:
            what = spec["resourceAttributes"]
            assert (what["group"], what["resource"]) == ("muster.dev", "experiments")
            asked = what["verb"], what["namespace"]
        return {"allowed": (spec["user"], *asked) in self.rights}

    def lines(self, *_: Any, **__: Any) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise AssertionError("a review is no watch")


@dataclass
class Daemon:
    """Experiments in three namespaces; a pod's node and message must not reach a stranger."""

    here: list[Subject] = field(
        default_factory=lambda: [
            Subject(plan(namespace=namespace, name="run"), record(message=f"secret of {namespace}"), view())
            for namespace in ("red", "green", "blue")
        ]
    )

    def dead(self) -> Mapping[str, str]:
        return {}

    def unready(self) -> Mapping[str, str]:
        return {}

    def role(self) -> str:
        return ""

    def subjects(self) -> list[Subject]:
        return self.here

    def find(self, namespace: str, name: str) -> Subject | None:
        return next((s for s in self.here if (s.plan.namespace, s.plan.name) == (namespace, name)), None)

    def clocks(self, plan: Plan, record: Record) -> Mapping[ClockName, float]:
        return ends(plan, record)


@dataclass
class Ground:
    """A server that asks for tokens, and what it runs on. ``now`` is the clock of its memory."""

    api: Api = field(default_factory=Api)
    now: float = 0.0
    session: ClientSession | None = None

    async def get(self, path: str, token: str = "", **headers: str) -> tuple[int, str]:
        if token:
            headers["Authorization"] = f"Bearer {token}"
        assert self.session is not None
        async with self.session.get(path, headers=headers) as response:
            return response.status, await response.text()


@pytest.fixture
async def ground() -> AsyncIterator[Ground]:
    here, daemon = Ground(), Daemon()
    registry = Instruments("1", tracked_pods=lambda: 0, queue_depth=lambda: 0).registry
    authenticator = TokenAuthenticator(Reviews(here.api, lambda: here.now))
    names = {"muster.example.com"}
    server = HttpServer(
        registry,
        daemon,
        daemon,
        "127.0.0.1",
        0,
        clock=lambda: NOW,
        authenticator=authenticator,
        names=names,
        streams=Streams(Changes(), pause=0.01, heartbeat=0.01),
    )
    port = await server.start()
    async with ClientSession(f"http://127.0.0.1:{port}") as here.session:
        yield here
    await server.stop()


PATHS = ("/", "/experiments.json", "/metrics", "/experiments/red/run", "/experiments/red/run.json", "/nothing")


@pytest.mark.parametrize("path", PATHS)
async def test_without_a_token_nothing_is_read(ground: Ground, path: str) -> None:
    status, text = await ground.get(path)
    assert status == 401
    assert "kubectl create token" in text
    assert "secret" not in text
    assert ground.api.asked == []


async def test_a_browser_is_asked_for_the_token_as_a_password(ground: Ground) -> None:
    ground.api.rights.add(("alice", "list", ""))
    assert ground.session is not None
    async with ground.session.get("/") as response:
        assert [each.split()[0] for each in response.headers.getall("WWW-Authenticate")] == ["Bearer", "Basic"]
        assert "Set-Cookie" not in response.headers
    basic = b64encode(b"anybody:alice's").decode()
    status, text = await ground.get("/", Authorization=f"Basic {basic}")
    assert status == 200
    assert "secret of red" in text


@pytest.mark.parametrize("path", PATHS)
async def test_a_token_that_the_api_server_refuses_reads_nothing(ground: Ground, path: str) -> None:
    status, text = await ground.get(path, "stolen")
    assert status == 401
    assert "does not accept that token" in text
    assert "secret" not in text


async def test_health_needs_no_token(ground: Ground) -> None:
    assert await ground.get("/livez") == (200, "ok\n")
    assert await ground.get("/readyz") == (200, "ok\n")
    assert ground.api.asked == []


async def test_a_reader_sees_the_namespaces_whose_experiments_it_may_list(ground: Ground) -> None:
    ground.api.rights |= {("alice", "list", "red"), ("alice", "list", "blue"), ("bob", "list", "green")}
    for path in ("/", "/experiments.json"):
        status, text = await ground.get(path, "alice's")
        assert status == 200
        assert ("secret of red" in text, "secret of green" in text, "secret of blue" in text) == (True, False, True)
    assert "2 experiments" in (await ground.get("/", "alice's"))[1]
    assert "namespaces where alice may list experiments" in (await ground.get("/", "alice's"))[1]
    assert "secret of green" in (await ground.get("/", "bob's"))[1]
    status, text = await ground.get("/", "root's")
    assert status == 200
    assert "secret" not in text


async def test_who_may_list_all_namespaces_sees_all_with_one_review(ground: Ground) -> None:
    ground.api.rights.add(("root", "list", ""))
    status, text = await ground.get("/experiments.json", "root's")
    assert status == 200
    assert all(f"secret of {namespace}" in text for namespace in ("red", "green", "blue"))
    assert len(ground.api.asked) == 2


@pytest.mark.parametrize("name", ["run", "run.json", "absent", "absent.json"])
async def test_one_experiment_needs_the_right_to_get_it_whether_it_exists_or_not(ground: Ground, name: str) -> None:
    ground.api.rights.add(("alice", "get", "red"))
    status, text = await ground.get(f"/experiments/green/{name}", "alice's")
    assert (status, text) == (403, "alice may not get experiments.muster.dev in namespace green.\n")
    status, _ = await ground.get(f"/experiments/red/{name}", "alice's")
    assert status == (200 if name.startswith("run") else 404)


async def test_metrics_need_the_right_to_get_their_url(ground: Ground) -> None:
    ground.api.rights |= {("bob", "get", "/metrics"), ("alice", "list", "")}
    assert (await ground.get("/metrics", "bob's"))[0] == 200
    status, text = await ground.get("/metrics", "alice's")
    assert status == 403
    assert "deploy/readers.yaml" in text


async def test_no_document_has_the_uid_of_an_experiment(ground: Ground) -> None:
    ground.api.rights |= {("root", "get", "red"), ("root", "list", "")}
    uid = Daemon().here[0].plan.uid
    for path in ("/", "/experiments.json", "/experiments/red/run", "/experiments/red/run.json"):
        status, text = await ground.get(path, "root's")
        assert status == 200
        assert uid not in text.replace("run-" + uid, "")
        assert '"uid"' not in text


@pytest.mark.parametrize("problem", [Unreachable("no answer"), Forbidden("not you", status=403), ApiError("odd")])
async def test_without_an_answer_to_a_review_nothing_is_read(ground: Ground, problem: ApiError) -> None:
    ground.api.problem = problem
    ground.api.rights.add(("root", "list", ""))
    with capture_logs() as logs:
        for path in PATHS:
            status, text = await ground.get(path, "root's")
            assert status == 503
            assert "not you" not in text
    assert [entry["event"] for entry in logs] == ["readers cannot be checked and are refused"]
    ground.api.problem = None
    assert (await ground.get("/", "root's"))[0] == 200


async def test_a_failure_between_the_two_reviews_reads_nothing(ground: Ground) -> None:
    assert (await ground.get("/", "alice's"))[0] == 200
    ground.now = 31.0
    ground.api.problem = Unreachable("no answer")
    for path in PATHS[:-1]:
        assert (await ground.get(path, "alice's"))[0] == 503


@pytest.mark.parametrize("garbage", [b"", b"{}", b"[]", b'{"status":{"authenticated":"yes"}}', b"\xff", b"null"])
async def test_an_answer_that_is_no_review_reads_nothing(ground: Ground, garbage: bytes) -> None:
    ground.api.garbage = garbage or b" "
    assert (await ground.get("/", "root's"))[0] == 503


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"authenticated": False, "user": {"username": "root"}},
        {"authenticated": True},
        {"authenticated": True, "user": {}},
    ],
)
async def test_a_review_without_a_user_is_a_refusal(ground: Ground, status: dict[str, Any]) -> None:
    ground.api.garbage = msgspec.json.encode({"status": status})
    assert (await ground.get("/", "root's"))[0] == 401


async def test_a_revoked_token_and_a_revoked_right_work_for_a_minute_at_most(ground: Ground) -> None:
    ground.api.rights.add(("bob", "get", "/metrics"))
    assert (await ground.get("/metrics", "bob's"))[0] == 200
    asked = len(ground.api.asked)
    ground.api.users.clear()
    ground.api.rights.clear()
    ground.now = 59.0
    assert (await ground.get("/metrics", "bob's"))[0] == 200
    assert len(ground.api.asked) == asked
    ground.now = 60.0
    assert (await ground.get("/metrics", "bob's"))[0] == 401
    ground.api.users["bob's"] = "bob"
    ground.now = 90.0
    assert (await ground.get("/metrics", "bob's"))[0] == 403


async def test_a_new_right_is_seen_after_half_a_minute(ground: Ground) -> None:
    assert (await ground.get("/metrics", "bob's"))[0] == 403
    ground.api.rights.add(("bob", "get", "/metrics"))
    ground.now = 29.0
    assert (await ground.get("/metrics", "bob's"))[0] == 403
    ground.now = 30.0
    assert (await ground.get("/metrics", "bob's"))[0] == 200


async def test_a_peer_that_guesses_tokens_does_not_load_the_api_server(ground: Ground) -> None:
    answers = [(await ground.get("/", f"guess-{number}"))[0] for number in range(100)]
    assert answers == [401] * reviews.REFUSALS + [429] * (100 - reviews.REFUSALS)
    assert len(ground.api.asked) == reviews.REFUSALS
    ground.now = 30.0
    assert (await ground.get("/", "guess"))[0] == 401


async def test_known_readers_are_answered_while_their_peer_guesses(ground: Ground) -> None:
    ground.api.rights.add(("bob", "get", "/metrics"))
    assert (await ground.get("/metrics", "bob's"))[0] == 200
    for number in range(30):
        await ground.get("/", f"guess-{number}")
    assert (await ground.get("/metrics", "bob's"))[0] == 200


async def test_few_reviews_wait_at_the_same_time() -> None:
    api = Api()
    known = await TokenAuthenticator(Reviews(api, lambda: 0.0)).reader(["Bearer alice's"], "10.0.0.1")
    api.rights |= {("alice", "list", f"n{number}") for number in range(0, 500, 2)}
    readable = await known.namespaces(f"n{number % 500}" for number in range(1000))
    assert readable == {f"n{number}" for number in range(0, 500, 2)}
    assert len(api.asked) == 501
    assert api.most <= reviews.AT_ONCE


async def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reviews, "REMEMBERED", 10)
    api = Api({f"t{number}": f"user {number}" for number in range(100)})
    asking = Reviews(api, lambda: 0.0)
    for number in range(100):
        assert await asking.user(f"t{number}", "10.0.0.1")
    asked = len(api.asked)
    assert await asking.user("t99", "10.0.0.1")
    assert len(api.asked) == asked
    assert await asking.user("t0", "10.0.0.1")
    assert len(api.asked) == asked + 1


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("Bearer abc.d-e_f", "abc.d-e_f"),
        ("bearer  abc", "abc"),
        ("Basic " + b64encode(b"name:abc").decode(), "abc"),
        ("Basic " + b64encode(b":abc").decode(), "abc"),
        ("Basic " + b64encode(b"abc").decode(), None),
        ("Basic " + b64encode("name:ü".encode()).decode(), None),
        ("Basic ???", None),
        ("Basic", None),
        ("Bearer", None),
        ("Bearer a b", None),
        ("Bearer a\x00b", None),
        ("Bearer " + "x" * 8193, None),
        ("Digest abc", None),
        ("abc", None),
        ("", None),
    ],
)
def test_a_token_is_read_from_either_scheme(header: str, token: str | None) -> None:
    assert token_of([header]) == token
    assert token_of([header, header]) is None
    assert token_of([]) is None


@pytest.mark.parametrize("host", ["10.0.0.7:8080", "[::1]:8080", "localhost", "LOCALHOST:1", "muster.example.com"])
def test_addresses_localhost_and_listed_names_are_hosts(host: str) -> None:
    check_host([host], {"muster.example.com"})


@pytest.mark.parametrize(
    ("hosts", "status"),
    [
        (["evil.example.com"], 421),
        (["evil.example.com:8080"], 421),
        (["localhost.evil.example.com"], 421),
        (["127.0.0.1.evil.example.com"], 421),
        (["127.1"], 421),
        (["2130706433"], 421),
        (["[localhost]"], 400),
        (["[::zz]"], 400),
        (["user@localhost"], 400),
        (["localhost:x"], 400),
        (["localhost\n"], 400),
        ([""], 400),
        ([], 400),
        (["localhost", "localhost"], 400),
    ],
)
def test_any_other_host_is_refused(hosts: list[str], status: int) -> None:
    with pytest.raises(Refused) as refused:
        check_host(hosts, {"muster.example.com"})
    assert refused.value.status == status


@pytest.mark.parametrize("path", [*PATHS, "/readyz"])
async def test_a_page_of_another_site_reads_nothing_by_rebinding_its_name(ground: Ground, path: str) -> None:
    """Also with a valid token; the same check guards a loopback listener, which asks for none."""
    ground.api.rights |= {("root", "list", ""), ("root", "get", "red"), ("root", "get", "/metrics")}
    status, text = await ground.get(path, "root's", Host="evil.example.com:8080")
    assert status == 421
    assert "secret" not in text


async def test_everyone_who_reaches_a_loopback_listener_may_read() -> None:
    reader = await Anyone().reader([], "127.0.0.1")
    assert await reader.sees_all()
    assert await reader.namespaces(["red"]) == {"red"}
    await reader.check_experiment("red", "run")
    await reader.check_metrics()


@pytest.mark.parametrize(("host", "loopback"), [
    ("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True),
    ("0.0.0.0", False), ("::", False), ("", False), ("10.0.0.1", False), ("host", False), ("localhost.evil.com", False),
])  # fmt: skip
def test_only_a_loopback_address_needs_no_tokens(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


async def test_a_stream_is_for_the_readers_of_its_page(ground: Ground) -> None:
    ground.api.rights |= {("alice", "get", "red"), ("alice", "list", "red")}
    assert (await ground.get("/events/experiments/red/run"))[0] == 401
    assert (await ground.get("/events/"))[0] == 401
    status, text = await ground.get("/events/experiments/green/run", "alice's")
    assert status == 403
    assert "secret" not in text
    assert (await ground.get("/events/experiments/red/nothing", "alice's"))[0] == 404
    assert (await ground.get("/events/nothing", "alice's"))[0] == 404
    assert ground.session is not None
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
        assert ground.session is not None
        async with ground.session.get(
            "/events/experiments/red/run", headers={"Authorization": f"Bearer {user}'s"}
        ) as stream:
            await stream.content.readuntil(b"\n\n")
            if lost == "right":
                ground.api.rights.remove((user, "get", "red"))
            else:
                del ground.api.users[f"{user}'s"]
            ground.now += 61  # what was remembered is forgotten
            async with asyncio.timeout(10):
                rest = await stream.content.read()
        assert b"event: refused" in rest, lost


async def until_cut(stream: ClientResponse) -> bytes:
    """What is received until the server cuts the connection."""
    received = b""
    try:
        while part := await stream.content.readany():
            received += part
    except ClientError:
        return received
    raise AssertionError("the stream ended in good order")


async def test_a_stream_is_cut_and_not_refused_while_no_right_can_be_checked(ground: Ground) -> None:
    ground.api.rights.add(("alice", "get", "red"))
    assert ground.session is not None
    sign_in = {"Authorization": "Bearer alice's"}
    async with ground.session.get("/events/experiments/red/run", headers=sign_in) as stream:
        await stream.content.readuntil(b"\n\n")
        ground.api.problem = Unreachable("connection refused")
        ground.now += 61  # what was remembered is forgotten
        async with asyncio.timeout(10):
            received = await until_cut(stream)
    assert b"event: refused" not in received
    assert (await ground.get("/events/experiments/red/run", "alice's"))[0] == 503
