"""The progress endpoint over real sockets: the accepted senders, and the harm that no peer can do with it."""

import asyncio
import json
import ssl
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme
from structlog.testing import capture_logs

from muster.api.errors import Unreachable
from muster.api.progress import MAX_BODY, audience, status_path
from muster.daemon.experiments.sent import PodIdentity, PostRefused
from muster.daemon.web.certificate import ServerCertificate
from muster.daemon.web.connections import Limits
from muster.daemon.web.progress import OF_ADDRESS, OF_POD, PASSED_ON, StatusServer
from muster.daemon.web.reviews import REFUSALS, WAITING, PodTokens
from muster.kube.transport import Answer

NAMESPACE, NAME = "team-a", "train"
POD = PodIdentity(NAMESPACE, "train-worker-0", "uid-0")
PATH = status_path(NAMESPACE, NAME)
BODY = json.dumps({"trainerStatus": {"progressPercentage": 0}}).encode()


@dataclass
class Reviewer:
    """An API server that knows tokens by their signature, each of a pod and for an audience."""

    tokens: dict[str, tuple[PodIdentity, str]] = field(default_factory=dict)
    reviewed: int = 0
    going: asyncio.Event = field(default_factory=asyncio.Event)
    """While it is not set, a review has no answer."""
    error: Exception | None = None
    status: dict[str, Any] = field(default_factory=dict)

    async def request(self, method: str, path: str, **options: Any) -> Answer:
        assert (method, path) == ("POST", "/apis/authentication.k8s.io/v1/tokenreviews")
        self.reviewed += 1
        await self.going.wait()
        if self.error is not None:
            raise self.error
        spec = json.loads(options["body"])["spec"]
        pod, good = self.tokens.get(spec["token"].rpartition(".")[2], (POD, ""))
        status: dict[str, Any] = {"authenticated": False}
        if good in spec["audiences"]:
            extra = {"pod-name": [pod.name], "pod-uid": [pod.uid]}
            user = {
                "username": f"system:serviceaccount:{pod.namespace}:default",
                "extra": {f"authentication.kubernetes.io/{name}": value for name, value in extra.items()},
            }
            status = {"authenticated": True, "user": user, "audiences": [good]}
        return Answer(201, json.dumps({"status": status | self.status}).encode())


@dataclass
class Members:
    """The daemon."""

    leading: bool = True
    leader_address: str = ""
    heard: list[tuple[str, str, PodIdentity, bytes]] = field(default_factory=list)
    refuses: PostRefused | None = None
    addresses: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    def reported(self, namespace: str, name: str, pod: PodIdentity, body: bytes, address: str) -> None:
        if self.refuses is not None:
            raise self.refuses
        self.heard.append((namespace, name, pod, body))
        self.addresses.append(address)

    def unheard(self, address: str) -> None:
        self.lost.append(address)


def token_of(name: str, *audiences: str) -> str:
    """Return a token with that signature and these audiences."""
    claims = json.dumps({"aud": audiences or [audience(NAMESPACE, NAME)]}).encode()
    return f"e30.{urlsafe_b64encode(claims).decode().rstrip('=')}.{name}"


class World:
    """One authority, one API server, and daemons with an endpoint."""

    def __init__(self, folder: Path) -> None:
        self.reviewer = Reviewer()
        self.reviewer.going.set()
        self.reviewer.tokens["good"] = POD, audience(NAMESPACE, NAME)
        authority = trustme.CA()
        issued = authority.issue_cert("127.0.0.1", "musterd-progress.muster-system.svc")
        issued.private_key_and_cert_chain_pem.write_to_path(folder / "tls.pem")
        self.trust = ssl.create_default_context()
        authority.configure_trust(self.trust)
        self._file = folder / "tls.pem"
        self.outcomes: list[str] = []
        self.servers: list[StatusServer] = []

    async def serve(self, members: Members, limits: Limits | None = None) -> str:
        """Return the address of one more endpoint."""
        server = StatusServer(
            members,
            PodTokens(self.reviewer, asyncio.get_running_loop().time),  # type: ignore[arg-type]
            "127.0.0.1",
            0,
            tls=ServerCertificate(self._file, self._file).context,
            trust=self.trust,
            named="musterd-progress.muster-system.svc",
            key=self._file.read_bytes,
            observe=self.outcomes.append,
            **({"limits": limits} if limits else {}),
        )
        self.servers.append(server)
        return f"127.0.0.1:{await server.start()}"

    async def post(
        self,
        address: str,
        *,
        path: str = PATH,
        token: str | None = "good",
        body: Any = BODY,
        method: str = "POST",
        sender: str = "127.0.0.1",
        **headers: str,
    ) -> tuple[int, dict[str, Any]]:
        """Return status and body of the answer."""
        connector = aiohttp.TCPConnector(local_addr=(sender, 0))
        sent = {
            "Content-Type": "application/json",
            **({"Authorization": f"Bearer {token if '.' in token else token_of(token)}"} if token else {}),
            **headers,
        }
        async with (
            aiohttp.ClientSession(connector=connector) as session,
            session.request(method, f"https://{address}{path}", data=body, headers=sent, ssl=self.trust) as answer,
        ):
            return answer.status, json.loads(await answer.read() or b"{}")


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path)
    yield world
    for server in world.servers:
        await server.stop()


async def test_a_member_is_heard_as_the_pod_of_its_token(world: World) -> None:
    members = Members()
    address = await world.serve(members)
    assert await world.post(address) == (200, {})
    assert members.heard == [(NAMESPACE, NAME, POD, BODY)]
    assert await world.post(address) == (200, {})
    assert world.reviewer.reviewed == 1, "an answer is kept"
    assert world.outcomes == ["accepted"] * 2


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"token": None}, 401),
        ({"token": "stolen"}, 403),
        ({"path": status_path("team-b", NAME)}, 403),
        ({"path": status_path(NAMESPACE, "another")}, 403),
        ({"path": "/metrics"}, 404),
        ({"path": "/"}, 404),
        ({"path": f"{PATH}?x=1"}, 404),
        ({"path": f"{PATH}/"}, 404),
        ({"method": "GET"}, 405),
        ({"method": "PUT"}, 405),
        ({"body": b"x" * (MAX_BODY + 1)}, 413),
        ({"Content-Encoding": "gzip"}, 415),
        ({"Content-Encoding": "Deflate"}, 415),
        ({"Content-Encoding": "gzip, identity"}, 415),
        ({"token": "no.token"}, 403),
        ({"token": "e30.W10.x"}, 403),
        ({"token": token_of("good", "another")}, 403),
    ],
)
async def test_nothing_else_is_taken(world: World, options: dict[str, Any], status: int) -> None:
    members = Members()
    found, said = await world.post(await world.serve(members), **options)
    assert (found, said["code"], said["status"]) == (status, status, "Failure")
    assert members.heard == []


async def test_a_pod_of_another_namespace_is_not_heard_for_a_run_of_the_same_name(world: World) -> None:
    """The pod's audience is another, and it cannot have one of this namespace: the API server would still name it."""
    members = Members()
    world.reviewer.tokens["theirs"] = PodIdentity("team-b", "x", "uid-b"), audience(NAMESPACE, NAME)
    assert (await world.post(await world.serve(members), token="theirs"))[0] == 403
    assert members.heard == []


@pytest.mark.parametrize(
    "status",
    [
        {"audiences": None},
        {"audiences": ["https://kubernetes.default.svc"]},
        {"user": {"username": "jane"}},
        {"user": {"username": "system:serviceaccount:team-a:default"}},
        {"user": None},
        {"authenticated": False},
    ],
    ids=["no audience", "of the API server", "a person", "bound to no pod", "no user", "refused"],
)
async def test_a_token_that_is_not_one_of_a_pod_for_this_run_is_refused(world: World, status: dict[str, Any]) -> None:
    members = Members()
    world.reviewer.status = status
    assert (await world.post(await world.serve(members)))[0] == 403
    assert members.heard == []


async def test_an_api_server_that_does_not_answer_makes_no_one_believed(world: World) -> None:
    members = Members()
    world.reviewer.error = Unreachable("gone")
    assert (await world.post(await world.serve(members)))[0] == 503
    world.reviewer.error = None
    assert (await world.post(await world.serve(members)))[0] == 200


async def test_a_stream_without_length_ends_at_the_bound(world: World) -> None:
    members = Members()

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 4096

    try:
        status, _ = await world.post(await world.serve(members), body=endless())
    except aiohttp.ClientError:  # the connection is closed while the client still sends
        status = 413
    assert status == 413
    assert members.heard == []


async def test_a_body_that_comes_slowly_is_cut_off(world: World) -> None:
    members = Members()
    address = await world.serve(members, Limits(first_request=1.0, answer=0.2))

    async def slow() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    with pytest.raises(aiohttp.ClientError):
        await world.post(address, body=slow())
    assert members.heard == []
    assert (await world.post(address))[0] == 200


async def test_what_the_daemon_refuses_is_the_answer(world: World) -> None:
    members = Members(refuses=PostRefused(429, "TooManyRequests", "A rank is heard once in 1 s."))
    assert (await world.post(await world.serve(members)))[1]["message"] == "A rank is heard once in 1 s."
    assert world.outcomes == ["too-many"]


async def test_a_standby_passes_a_post_on_to_the_leader(world: World) -> None:
    leader, standby = Members(), Members(leading=False)
    standby.leader_address = await world.serve(leader)
    assert await world.post(await world.serve(standby)) == (200, {})
    assert (leader.heard, standby.heard) == ([(NAMESPACE, NAME, POD, BODY)], [])
    assert (await world.post(await world.serve(standby), token="stolen"))[0] == 403


async def test_a_post_is_passed_on_once(world: World) -> None:
    first, second = Members(leading=False), Members(leading=False)
    first.leader_address, second.leader_address = await world.serve(second), await world.serve(first)
    status, said = await world.post(await world.serve(first))
    assert (status, said["reason"]) == (503, "ServiceUnavailable")
    assert (await world.post(second.leader_address, **{PASSED_ON: "1"}))[0] == 503


async def test_a_standby_without_a_leader_or_with_one_that_is_gone_says_so_at_once(world: World) -> None:
    standby = Members(leading=False)
    address = await world.serve(standby)
    assert (await world.post(address))[0] == 503
    standby.leader_address = "127.0.0.1:1"
    with capture_logs() as logged:
        for _ in range(2):
            assert (await world.post(address))[0] == 503
    (once,) = logged
    assert (once["address"], once["log_level"]) == ("127.0.0.1:1", "warning")
    assert "127.0.0.1" in once["error"]


async def test_many_that_post_at_once_wait_for_their_turn_and_the_api_server_has_eight_reviews(world: World) -> None:
    members = Members()
    address = await world.serve(members, Limits(connections=1000, per_peer=1000, first_request=60.0, answer=60.0))
    world.reviewer.going.clear()
    for number in range(2 * WAITING):
        world.reviewer.tokens[f"t{number}"] = POD, audience(NAMESPACE, NAME)
    posts = [
        asyncio.create_task(world.post(address, token=f"t{number}", sender=f"127.0.1.{number // OF_ADDRESS}"))
        for number in range(2 * WAITING)
    ]
    done, _ = await asyncio.wait(posts, return_when=asyncio.FIRST_COMPLETED)
    assert {task.result()[0] for task in done} == {503}, "those beyond the bound are asked to come again"
    assert "" in members.lost, "posts of any sender may be among them"
    assert world.reviewer.reviewed <= 8
    world.reviewer.going.set()
    statuses = [status for status, _ in await asyncio.gather(*posts)]
    assert set(statuses) <= {200, 429, 503}
    assert len(members.heard) == statuses.count(200) >= OF_POD


async def test_an_address_has_its_share_of_what_waits_for_the_api_server(world: World) -> None:
    members = Members()
    address = await world.serve(members)
    world.reviewer.going.clear()
    posts = [asyncio.create_task(world.post(address, token=f"x{number}", sender="127.0.1.1")) for number in range(20)]
    refused, waiting = await asyncio.wait(posts, return_when=asyncio.FIRST_COMPLETED)
    while len(refused) < len(posts) - OF_ADDRESS:
        more, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        refused |= more
    assert {task.result()[0] for task in refused} == {429}
    assert set(members.lost) == {"127.0.1.1"}
    other = asyncio.create_task(world.post(address))
    world.reviewer.going.set()
    assert (await other)[0] == 200
    assert {status for status, _ in await asyncio.gather(*waiting)} == {403}


@pytest.mark.parametrize("passed_on", [False, True], ids=["by the leader", "by a standby"])
async def test_an_address_whose_tokens_are_refused_waits_and_no_other_one(world: World, passed_on: bool) -> None:
    members = Members()
    leader = await world.serve(members)
    address = await world.serve(Members(leading=False, leader_address=leader)) if passed_on else leader
    for number in range(REFUSALS):
        assert (await world.post(address, token=f"x{number}", sender="127.0.1.1"))[0] == 403
    reviewed = world.reviewer.reviewed
    assert (await world.post(address, token="another", sender="127.0.1.1"))[0] == 429
    assert world.reviewer.reviewed == reviewed
    assert (await world.post(address, sender="127.0.1.2"))[0] == 200
    assert members.addresses == ["127.0.1.2"], "also of what a standby has passed on"


async def test_a_post_that_claims_to_be_passed_on_counts_against_its_own_address(world: World) -> None:
    members = Members()
    address = await world.serve(members)
    await world.post(address, sender="127.0.1.1", **{PASSED_ON: "10.0.0.9 00"})
    assert members.addresses == ["127.0.1.1"]


async def test_a_pod_has_two_posts_at_once(world: World) -> None:
    members = Members()
    address = await world.serve(members)
    begun, going = asyncio.Semaphore(0), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield BODY[:1]
        begun.release()
        await going.wait()
        yield BODY[1:]

    slowly = [asyncio.create_task(world.post(address, body=slow())) for _ in range(OF_POD)]
    for _ in slowly:
        await begun.acquire()
    while (await world.post(address))[0] != 429:
        members.heard.clear()
    going.set()
    assert [status for status, _ in await asyncio.gather(*slowly)] == [200] * OF_POD


@pytest.mark.slow
async def test_slow_bodies_of_many_addresses_keep_nobody_out(world: World) -> None:
    """512 connections of 16 addresses, at full size: each is closed for the next one, and other senders are served."""
    members = Members()
    address = await world.serve(members)
    host, port = address.split(":")
    for number in range(64):
        pod = PodIdentity(NAMESPACE, f"hostile-{number}", f"hostile-{number}")
        world.reviewer.tokens[f"h{number}"] = pod, audience(NAMESPACE, NAME)
    begun = asyncio.Semaphore(0)

    async def hold(number: int) -> None:
        token = token_of(f"h{number % 64}")
        head = f"POST {PATH} HTTP/1.1\r\nAuthorization: Bearer {token}\r\nContent-Length: 9\r\n\r\n"
        while True:
            with suppress(OSError, asyncio.IncompleteReadError):
                sender = f"127.0.1.{number % 16}", 0
                reader, writer = await asyncio.open_connection(host, int(port), ssl=world.trust, local_addr=sender)
                writer.write(head.encode())
                begun.release()
                await reader.read()
                writer.transport.abort()

    hostile = [asyncio.create_task(hold(number)) for number in range(512)]
    for _ in range(512):
        await begun.acquire()
    heard = [await world.post(address, sender="127.0.2.1") for _ in range(20)]
    for task in hostile:
        task.cancel()
    await asyncio.gather(*hostile, return_exceptions=True)
    assert [status for status, _ in heard] == [200] * 20
    assert "127.0.2.1" not in members.lost
    assert "" not in members.lost


async def test_a_client_that_does_not_speak_tls_gets_nothing(world: World) -> None:
    address = await world.serve(Members())
    host, port = address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"POST / HTTP/1.1\r\n\r\n")
    assert b"HTTP" not in await reader.read()
    writer.close()
