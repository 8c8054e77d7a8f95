"""The rights of readers on the HTTP port, asked over a real socket; a pretended API server answers the reviews."""

from base64 import b64encode
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from muster.api.errors import ApiError, Forbidden, Unreachable
from muster.daemon.web import reviews
from muster.daemon.web.readers import Anyone, Refused, TokenAuthenticator, asks_browsers, check_host, token_of
from muster.daemon.web.reviews import Reviews
from muster.kube.authentication.credentials import is_loopback
from tests.daemon.web.ground import Api, Ground, of_tenants

PATHS = ("/", "/experiments.json", "/metrics", "/experiments/red/run", "/experiments/red/run.json", "/nothing")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("token", "why"), [("", "kubectl create token"), ("stolen", "does not accept that token")])
async def test_without_a_token_nothing_is_read(ground: Ground, path: str, token: str, why: str) -> None:
    status, text = await ground.get(path, token)
    assert status == 401
    assert why in text
    assert "secret" not in text
    assert len(ground.api.asked) == bool(token)


async def test_a_browser_is_asked_for_the_token_as_a_password(ground: Ground) -> None:
    ground.api.rights.add(("alice", "list", ""))
    async with ground.session.get("/") as response:
        assert [each.split()[0] for each in response.headers.getall("WWW-Authenticate")] == ["Bearer", "Basic"]
        assert "Set-Cookie" not in response.headers
    basic = b64encode(b"anybody:alice's").decode()
    status, text = await ground.get("/", Authorization=f"Basic {basic}")
    assert status == 200
    assert "secret of red" in text


async def test_a_browser_is_not_asked_where_the_token_would_cross_a_network_unencrypted(ground: Ground) -> None:
    plain = {"Host": "10.0.0.7:8080"}
    async with ground.session.get("/", headers=plain) as response:
        assert [each.split()[0] for each in response.headers.getall("WWW-Authenticate")] == ["Bearer"]
        assert "port-forward" in await response.text()
    async with ground.session.get("/", headers=plain | {"X-Forwarded-Proto": "https"}) as response:
        assert [each.split()[0] for each in response.headers.getall("WWW-Authenticate")] == ["Bearer", "Basic"]
        assert "port-forward" not in await response.text()


@pytest.mark.parametrize(
    ("host", "forwarded", "asks"),
    [
        ("localhost:8080", "", True),
        ("LOCALHOST", "", True),
        ("127.0.0.1:8080", "", True),
        ("[::1]:8080", "", True),
        ("musterd.example.com", "https", True),
        ("musterd.example.com", "HTTPS, http", True),
        ("musterd.example.com", "http", False),
        ("musterd.example.com", "", False),
        ("localhost.example.com", "", False),
        ("10.0.0.7", "", False),
        ("", "", False),
    ],
)
def test_browsers_are_asked_on_loopback_and_behind_https_only(host: str, forwarded: str, asks: bool) -> None:
    assert asks_browsers(host, forwarded) is asks


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


@pytest.mark.parametrize("name", ["run", "run.json", "absent", "absent.json", "jobset/run", "jobset/run.json"])
async def test_one_experiment_needs_the_right_to_get_it_whether_it_exists_or_not(ground: Ground, name: str) -> None:
    ground.api.rights.add(("alice", "get", "red"))
    status, text = await ground.get(f"/experiments/green/{name}", "alice's")
    assert (status, text) == (403, "alice may not get experiments.muster.dev in namespace green.\n")
    status, _ = await ground.get(f"/experiments/red/{name}", "alice's")
    assert status == (200 if name.startswith("run") else 404)


@pytest.mark.parametrize("name", ["token", "access_token", "authorization"])
async def test_a_token_in_an_address_is_none(ground: Ground, name: str) -> None:
    """The token would be in the logs of proxies and in the history of the browser."""
    ground.api.rights.add(("alice", "list", ""))
    assert (await ground.get(f"/?{name}=alice%27s"))[0] == 401
    assert (await ground.get(f"/events/?{name}=alice%27s"))[0] == 401
    assert ground.api.asked == []


async def test_metrics_need_the_right_to_get_their_url(ground: Ground) -> None:
    ground.api.rights |= {("bob", "get", "/metrics"), ("alice", "list", "")}
    assert (await ground.get("/metrics", "bob's"))[0] == 200
    status, text = await ground.get("/metrics", "alice's")
    assert status == 403
    assert "deploy/readers.yaml" in text


async def test_no_document_has_the_uid_of_an_experiment(ground: Ground) -> None:
    ground.api.rights |= {("root", "get", "red"), ("root", "list", "")}
    uid = of_tenants().here[0].plan.uid
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
