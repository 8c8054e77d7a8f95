"""The bundle of a run by the page: with the reader's token alone, bounded, and refused with a sentence."""

import asyncio
import io
import sys
import tarfile
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import ClientSession
from structlog.testing import capture_logs

from muster.api.errors import Forbidden, NotFound, Unreachable
from muster.api.names import LABEL_UID
from muster.client.errors import NoSuchExperiment
from muster.daemon.web import bundles
from muster.daemon.web.bundle_process import Order, failure
from muster.daemon.web.bundles import Bundles
from muster.daemon.web.readers import Anyone, Authenticator, Refused, TokenAuthenticator
from muster.daemon.web.reviews import Reviews
from muster.kube.authentication.credentials import ClusterAccess, Credentials
from muster.metrics.collector import Subject
from tests.builders import plan, record, view
from tests.client.localserver import MANIFEST, TOKEN, LocalServer, labels, local_server, running
from tests.daemon.web.ground import Api
from tests.daemon.web.subjects import Daemon, asking

HERE = "/experiments/default/mine.tar.gz"
SECRET = "planted-secret-0815"
PATIENCE = 300.0
"""Seconds for one bundle: its process has a low priority, and begins late on a busy machine."""


def access(token: str) -> ClusterAccess:
    return ClusterAccess("http://127.0.0.1:1", f"Bearer {token}")


def program(code: str) -> tuple[str, ...]:
    """Return the command of a process that reads its order and then runs that code."""
    return (sys.executable, "-c", f"import sys, time; order = sys.stdin.read(); {code}")


def files(archive: bytes) -> dict[str, str]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {each.name.partition("/")[2]: tar.extractfile(each).read().decode() for each in tar}  # type: ignore[union-attr]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalServer]:
    """Yield an API server with a run of two ranks, which takes one token."""
    with local_server(tmp_path) as server:
        from muster.client.blocking import BlockingClient

        with BlockingClient(server.kubeconfig) as client:
            client.submit(MANIFEST, name="mine")
        server.status("mine", phase="Running", reason="RollComplete", message="2/2 ranks arrived", epoch=0, size=2)
        env = [{"name": "KEY", "value": SECRET}]
        spec = {"containers": [{"name": "main", "image": "none", "env": env}], "nodeName": "local"}
        for rank in (0, 1):
            meta = {"name": f"p-{rank}", "labels": labels("mine", rank) | {LABEL_UID: server.uid("mine")}}
            server.put("v1", "pods", "default", {"kind": "Pod", "metadata": meta, "spec": spec})
            server.put("v1", "pods", "default", {"kind": "Pod", "metadata": meta, "status": running()}, "status")
            server.print(f"p-{rank}", f"rank {rank} was given {SECRET}", ends=True)
        yield server


def served(
    made: Bundles | None, authenticator: Authenticator | None = None
) -> AbstractAsyncContextManager[ClientSession]:
    """Return a client of a daemon that knows the run."""
    daemon = Daemon([Subject(plan(namespace="default", name="mine"), record(), view())])
    return asking(daemon, authenticator=authenticator, bundles=made)


def readers(*may: str) -> TokenAuthenticator:
    """Return the authenticator by which the owner of the cluster's token is ann; she may get those experiments."""
    api = Api({TOKEN: "ann", "bobs": "bob"}, {(user, "get", each) for user in ("ann", "bob") for each in may})
    return TokenAuthenticator(Reviews(api, lambda: 0.0))


def bearer(token: str, **more: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", **more}


async def test_the_page_gives_the_archive_that_the_command_makes(
    cluster: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from click.testing import CliRunner

    from muster.cli.main import muster

    made = Bundles(lambda token: ClusterAccess(cluster.url, f"Bearer {token}"), within=PATIENCE)
    async with served(made, Anyone()) as session, session.get(HERE, headers=bearer(TOKEN)) as response:
        archive = await response.read()
        assert response.status == 200, archive
        assert response.headers["Content-Type"] == "application/gzip"
        assert response.headers["Content-Disposition"] == 'attachment; filename="default-mine.tar.gz"'
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
    file = tmp_path / "b.tar.gz"
    await asyncio.to_thread(CliRunner().invoke, muster, ["bundle", "mine", "-o", str(file)], catch_exceptions=False)
    page, command = files(archive), files(file.read_bytes())
    assert sorted(page) == sorted(command)
    same = set(page) - {"README.txt", "explain.txt"}  # parts that have ages
    assert {name: page[name] for name in same} == {name: command[name] for name in same}
    assert "rank 1 was given [removed]" in page["last-lines.json"]
    assert "2/2 ranks arrived" in page["explain.txt"]
    assert SECRET not in "".join(page.values())


async def test_a_token_that_the_api_server_refuses_is_refused(cluster: LocalServer) -> None:
    made = Bundles(lambda token: ClusterAccess(cluster.url, f"Bearer {token}"), within=PATIENCE)
    async with served(made, Anyone()) as session:
        async with session.get(HERE, headers=bearer("stolen")) as response:
            assert (response.status, await response.text()) == (
                401,
                "The API server does not accept your token; it may have expired.\n",
            )
        async with session.get(HERE) as response:
            assert response.status == 401
            assert "kubectl create token" in await response.text()


async def test_a_reader_without_rights_starts_no_process(tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    made = Bundles(access, program(f"open({str(touched)!r}, 'w')"))
    async with served(made, readers("elsewhere")) as session:
        async with session.get(HERE, headers=bearer(TOKEN)) as response:
            said = await response.text()
            assert (response.status, said) == (403, "ann may not get experiments.muster.dev in namespace default.\n")
        async with session.get(HERE) as response:
            assert response.status == 401
    async with served(made, readers("default")) as session:
        async with session.get("/experiments/default/other.tar.gz", headers=bearer(TOKEN)) as response:
            assert response.status == 404
        cross = {"Sec-Fetch-Site": "cross-site"}
        async with session.get(HERE, headers=bearer(TOKEN, **cross)) as response:
            assert response.status == 403
        async with session.head(HERE, headers=bearer(TOKEN)) as response:
            assert response.status == 200
    assert not touched.exists()


async def test_a_reader_has_one_at_a_time_and_another_its_own() -> None:
    waits = "time.sleep(60)"
    made = Bundles(access, program(waits), within=PATIENCE)
    first = asyncio.create_task(made.make("ann", "t", "default", "mine"))
    await asyncio.sleep(0)
    with pytest.raises(Refused, match="one at a time"):
        await made.make("ann", "t", "default", "other")
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    done = Bundles(access, program("sys.stdout.write('archive')"), within=PATIENCE)
    assert await asyncio.gather(*(done.make(name, "t", "default", "mine") for name in "abcdef")) == [b"archive"] * 6
    assert await done.make("a", "t", "default", "mine") == b"archive"


async def test_owners_of_two_tokens_hold_one_place_of_a_namespace(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = f"open({str(log)!r}, 'a').write('x'); time.sleep(60 if '\"team-a\"' in order else 0); sys.stdout.write('b')"
    made = Bundles(access, program(code), within=PATIENCE)
    greedy = [asyncio.create_task(made.make(name, "t", "team-a", name)) for name in ("ann", "ann-2", "ann-3")]
    await asyncio.sleep(0)
    assert await made.make("bob", "t", "team-b", "mine") == b"b"
    for task in greedy:
        task.cancel()
    await asyncio.gather(*greedy, return_exceptions=True)
    assert len(log.read_text()) <= 2
    assert await made.make("ann", "t", "team-b", "mine") == b"b"


@pytest.mark.parametrize(
    ("code", "within", "status", "said"),
    [
        ("time.sleep(60)", 0.5, 503, "within 0.5 s"),
        ("sys.stdout.write('x' * 2000); time.sleep(60)", PATIENCE, 413, "too large"),
        ("sys.exit(1)", PATIENCE, 500, "the log of musterd"),
        ("sys.stdout.write('no json'); sys.exit(3)", PATIENCE, 500, "the log of musterd"),
        ('sys.stdout.write(\'{"status": 403, "text": "not you"}\'); sys.exit(3)', PATIENCE, 403, "not you"),
    ],
)
async def test_what_a_process_may_take_is_bounded(
    code: str, within: float, status: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles, "LARGEST", 1000)
    with capture_logs() as logged, pytest.raises(Refused, match=said) as refused:
        await Bundles(access, program(code), within=within).make("ann", "t", "default", "mine")
    assert refused.value.status == status
    assert [(each["namespace"], each["name"]) for each in logged] == [("default", "mine")] * (status == 500)


async def test_the_token_is_in_no_argument_and_no_environment() -> None:
    shows = "sys.stdout.write(open('/proc/self/cmdline').read() + open('/proc/self/environ').read() + '|' + order)"
    said = await Bundles(access, program(shows), within=PATIENCE).make("ann", "the-token", "default", "mine")
    outside, _, order = said.decode().rpartition("|")
    assert "the-token" not in outside
    assert msgspec.json.decode(order, type=Order).access.authorization == "Bearer the-token"


async def test_a_process_that_needs_too_much_memory_says_so(cluster: LocalServer, monkeypatch: Any) -> None:
    monkeypatch.setattr(bundles, "MEMORY", 2**20)
    with pytest.raises(Refused) as refused:
        await Bundles(lambda token: ClusterAccess(cluster.url, f"Bearer {token}"), within=PATIENCE).make(
            "ann", TOKEN, "default", "mine"
        )
    assert refused.value.status in (413, 500)


async def test_no_credential_of_musterd_is_in_what_a_reader_gets() -> None:
    """The server would take a client certificate before the reader's token."""
    own = ClusterAccess(
        "https://api:6443", "Bearer of-musterd", "ca", "cert", "key", verify=False, server_name="n", proxy="http://p:1"
    )

    class Source:
        name = "a kubeconfig"

        async def read(self) -> ClusterAccess:
            return ClusterAccess("https://api:6443", "Bearer of-musterd", verify=False, server_name="n")

    credentials = Credentials(Source(), clock=lambda: 0.0, wall=lambda: 0.0)
    await credentials.current()
    credentials._access = own  # noqa: SLF001 - the files of a certificate are not needed for this
    read = await credentials.with_token("readers").read()
    assert read == ClusterAccess(
        "https://api:6443", "Bearer readers", "ca", verify=False, server_name="n", proxy="http://p:1"
    )


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (Forbidden("who are you", status=401), 401, "does not accept"),
        (Forbidden('pods is forbidden: User "ann"\x1b', status=403), 403, 'User "ann"\ufffd'),
        (NoSuchExperiment("no experiment x"), 404, "no experiment x"),
        (NotFound("gone", status=404), 404, "gone"),
        (Unreachable("10.0.0.1: refused"), 503, "try again"),
        (TimeoutError(), 503, "muster bundle"),
        (MemoryError(), 413, "muster bundle"),
        (ValueError("odd"), 500, "the log of musterd"),
    ],
)
def test_every_refusal_is_a_sentence(error: Exception, status: int, said: str) -> None:
    found = failure(error, 19.0)
    assert (found.status, said in found.text) == (status, True)


async def test_pages_lead_to_the_bundle_where_readers_send_tokens() -> None:
    made, page = Bundles(access), "/experiments/default/mine"
    for authenticator, headers, offered in ((readers("default"), bearer(TOKEN), True), (Anyone(), {}, False)):
        async with served(made, authenticator) as session, session.get(page, headers=headers) as response:
            text = await response.text()
        assert (f'href="{HERE}"' in text) is offered
        assert "muster bundle mine --namespace default" in text
