"""Credentials that expire, rotate, become unreadable and come back while the process runs."""

import asyncio
import base64
import json
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from muster.api.errors import ApiError, Forbidden, Unreachable
from muster.kube.authentication.credentials import ClusterAccess, Credentials, Source, environment_proxy
from muster.kube.authentication.kubeconfig import InCluster, KubeConfig, choose_source
from muster.kube.connection import Connection
from tests.fakes.apiserver import ApiServer, Reply, Request, Step, answer, api_server, refusal, stream
from tests.fakes.certificates import Authority


class Time:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def only(token: Callable[[], str]) -> Step:
    """Accept only the requests that have ``token``."""

    async def step(request: Request, reply: Reply) -> None:
        welcome = request.headers.get("authorization") == f"Bearer {token()}"
        await (answer(200, {}) if welcome else refusal(401, "Unauthorized"))(request, reply)

    return step


def connect(source: Source, time: Time, wall: Callable[[], float] = lambda: 0.0) -> Connection:
    return Connection(Credentials(source, clock=time, wall=wall), clock=time)


async def test_a_refused_token_is_read_again_and_the_request_sent_once_more(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("one\n")
    async with api_server(otherwise=only(token.read_text)) as server:
        connection = connect(KubeConfig(str(server.kubeconfig(tmp_path, {"tokenFile": "token"}))), Time())
        await connection.credentials.current()
        token.write_text("two")
        await connection.request("POST", "/x", body=b"{}")
        await connection.request("POST", "/x", body=b"{}")
        await connection.aclose()
    shown = [request.headers["authorization"] for request in server.requests]
    assert shown == ["Bearer one", "Bearer two", "Bearer two"]
    assert [request.body for request in server.requests] == [b"{}"] * 3


async def test_a_watch_is_opened_again_with_new_credentials(tmp_path: Path) -> None:
    async with api_server(refusal(401, "Unauthorized"), stream(b"x")) as server:
        connection = connect(KubeConfig(str(server.kubeconfig(tmp_path))), Time())
        async with connection.lines("/w", params={}, silence=5) as lines:
            assert [line async for line in lines] == [b"x"]
        await connection.aclose()
    assert connection.requests == {("WATCH", 401): 1, ("WATCH", 200): 1}


async def test_a_token_that_stays_refused_is_not_read_again_for_each_request(tmp_path: Path) -> None:
    time = Time()
    async with api_server(otherwise=refusal(401, "Unauthorized")) as server:
        connection = connect(KubeConfig(str(server.kubeconfig(tmp_path, plugin(tmp_path, {"token": "old"})))), time)
        for _ in range(20):
            with pytest.raises(Forbidden):
                await connection.request("GET", "/x")
        assert runs(tmp_path) == 2
        time.now += 11
        with pytest.raises(Forbidden):
            await connection.request("GET", "/x")
        assert runs(tmp_path) == 3
        await connection.aclose()


async def test_a_rotated_token_is_used_before_the_old_one_is_refused(tmp_path: Path) -> None:
    time = Time()
    (tmp_path / "token").write_text("one")
    async with api_server(otherwise=only(lambda: (tmp_path / "token").read_text())) as server:
        connection = connect(KubeConfig(str(server.kubeconfig(tmp_path, {"tokenFile": "token"}))), time)
        await connection.request("GET", "/x")
        (tmp_path / "token").write_text("longer")
        time.now += 11
        await connection.request("GET", "/x")
        await connection.aclose()
    assert connection.requests == {("GET", 200): 2}


async def test_a_source_that_becomes_unreadable_keeps_the_known_credentials(tmp_path: Path) -> None:
    time = Time()
    async with api_server(otherwise=only(lambda: "secret")) as server:
        file = server.kubeconfig(tmp_path)
        connection = connect(KubeConfig(str(file)), time)
        await connection.request("GET", "/x")
        file.write_text("{half")
        time.now += 11
        await connection.request("GET", "/x")
        await connection.aclose()


async def test_requests_refused_together_share_one_reading(tmp_path: Path) -> None:
    allowed = "run-1"
    async with api_server(otherwise=only(lambda: allowed)) as server:
        file = server.kubeconfig(tmp_path, plugin(tmp_path, {"token": "run-%d"}))
        connection = connect(KubeConfig(str(file)), Time())
        await connection.request("GET", "/x")
        allowed = "run-2"
        await asyncio.gather(*(connection.request("GET", "/x") for _ in range(20)))
        assert runs(tmp_path) == 2
        await connection.aclose()


def plugin(directory: Path, status: dict[str, Any]) -> dict[str, Any]:
    """An exec credential plugin that counts its runs and prints ``status`` with the run's number for %d."""
    script = directory / "plugin"
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    script.write_text(
        f"#!/bin/sh\ncd {directory}; echo >> runs; n=$(wc -l < runs)\nprintf '{json.dumps(credential)}' $n\n"
    )
    script.chmod(0o700)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(script)}}


def runs(directory: Path) -> int:
    """Return how often the plugin was run."""
    return len((directory / "runs").read_text().splitlines())


async def test_a_plugin_is_run_again_before_its_token_ends_and_after_a_refusal(tmp_path: Path) -> None:
    time, wall, allowed = Time(), 1_900_000_000.0, "run-1"
    user = plugin(tmp_path, {"token": "run-%d", "expirationTimestamp": "2030-03-17T18:03:20Z"})  # wall + 1000
    async with api_server(otherwise=only(lambda: allowed)) as server:
        connection = connect(KubeConfig(str(server.kubeconfig(tmp_path, user))), time, lambda: wall)
        await connection.request("GET", "/x")
        time.now += 800
        wall += 800
        await connection.request("GET", "/x")
        assert runs(tmp_path) == 1
        time.now += 150
        wall += 150
        allowed = "run-2"
        await connection.request("GET", "/x")
        assert connection.requests == {("GET", 200): 3}
        allowed = "run-3"
        time.now += 5
        await connection.request("GET", "/x")
        await connection.aclose()
    assert connection.requests == {("GET", 200): 4, ("GET", 401): 1}
    assert runs(tmp_path) == 3


async def test_requests_and_streams_go_on_while_a_plugin_renews_an_expired_token(tmp_path: Path) -> None:
    """The followed log that is open when the token expires, and other requests meanwhile, must not be cut off."""
    pause, renewing, refused = asyncio.Event(), asyncio.Event(), asyncio.Event()
    allowed = {"Bearer one", "Bearer two"}

    class Plugin:
        name = "a plugin"

        async def read(self) -> ClusterAccess:
            if not renewing.is_set() and connection is not None:
                renewing.set()
                await pause.wait()
                return ClusterAccess(server.url, "Bearer two")
            return ClusterAccess(server.url, "Bearer one")

    async def step(request: Request, reply: Reply) -> None:
        if request.path == "/log":
            await reply.begin()
            await reply.chunk(b"before\n")
            await pause.wait()
            await reply.chunk(b"after\n")
            await reply.end()
        else:
            good = request.headers["authorization"] in allowed
            await (answer(200, {}) if good else refusal(401, "Unauthorized"))(request, reply)
            if request.path == "/second":
                refused.set()

    connection: Connection | None = None
    async with api_server(otherwise=step) as server:
        opened = connect(Plugin(), Time())
        await opened.credentials.current()
        connection = opened
        async with opened.lines("/log", params={}, silence=5) as lines:
            assert await anext(lines) == b"before"
            allowed.discard("Bearer one")
            first = asyncio.create_task(opened.request("GET", "/first"), name="first")
            await renewing.wait()
            second = asyncio.create_task(opened.request("GET", "/second"), name="second")
            await refused.wait()
            pause.set()
            assert [line async for line in lines] == [b"after"]
            assert [(await asked).status for asked in (first, second)] == [200, 200]
        await opened.aclose()
    shown = [(request.path, request.headers["authorization"][7:]) for request in server.requests]
    assert sorted(shown[1:]) == [("/first", "one"), ("/first", "two"), ("/second", "one"), ("/second", "two")]


async def test_a_hanging_plugin_is_started_once_and_requests_end_at_their_timeout(tmp_path: Path) -> None:
    script = tmp_path / "plugin"
    script.write_text(f"#!/bin/sh\necho >> {tmp_path}/runs\nexec sleep 0.3\n")
    script.chmod(0o700)
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(script)}}
    async with api_server(otherwise=answer(200, {})) as server:
        connection = connect(KubeConfig(str(server.kubeconfig(tmp_path, user))), Time())
        with pytest.raises(Unreachable, match="no answer within"):
            await connection.request("GET", "/x", timeout=0.05)
        with pytest.raises(Unreachable, match="not opened within"):
            async with connection.lines("/x", params={}, silence=0.05):
                pass
        with pytest.raises(ApiError, match="failed to decode process output"):  # it has ended without an output
            await connection.request("GET", "/x", timeout=5)
        await connection.aclose()
    assert (tmp_path / "runs").read_text() == "\n"


async def test_closing_does_not_wait_for_a_plugin(tmp_path: Path) -> None:
    started = asyncio.Event()

    class Endless:
        name = "a plugin that hangs"

        async def read(self) -> ClusterAccess:
            started.set()
            await asyncio.Event().wait()
            raise AssertionError("cancelled before")

    connection = connect(Endless(), Time())
    asking = asyncio.create_task(connection.request("GET", "/x"), name="request")
    await started.wait()
    await connection.aclose()
    with pytest.raises(Unreachable, match="closed"):  # the asking task itself was not cancelled
        await asking


async def test_a_rotated_ca_and_client_certificate_are_used(tmp_path: Path) -> None:
    old, new = Authority("old"), Authority("new")
    time = Time()
    ca, (cert, key) = tmp_path / "ca.crt", old.issue("me").write(tmp_path, "client")
    ca.write_bytes(old.certificate)
    user = {"client-certificate": cert.name, "client-key": key.name}
    cluster = {"certificate-authority": ca.name}

    def listening(authority: Authority) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=authority.certificate.decode())
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_cert_chain(*authority.issue("localhost").write(tmp_path, "server"))
        return context

    async with api_server(otherwise=answer(200, {}), tls=listening(old)) as server:
        connection = connect(KubeConfig(str(server.kubeconfig(tmp_path, user, cluster))), time)
        await connection.request("GET", "/x")
        first = await connection.credentials.current()
        assert await connection.credentials.renew(first) is not first
        assert (await connection.credentials.current()).tls is first.tls  # nothing changed: the context is the same
    async with api_server(otherwise=answer(200, {}), tls=listening(new)) as server:
        server.kubeconfig(tmp_path, user, cluster)
        time.now += 11
        with pytest.raises(Unreachable, match="certificate verify failed"):
            await connection.request("GET", "/x")
        ca.write_bytes(new.certificate)
        new.issue("me").write(tmp_path, "client")
        time.now += 11
        await connection.request("GET", "/x")
        await connection.aclose()
    assert (await connection.credentials.current()).tls is not first.tls


async def test_inline_certificates_insecure_servers_and_server_names_are_honoured(tmp_path: Path) -> None:
    authority = Authority()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*authority.issue("kubernetes.default").write(tmp_path, "server"))
    inline = base64.b64encode(authority.certificate).decode()
    async with api_server(otherwise=answer(200, {}), tls=context) as server:
        for cluster, works in (
            ({"certificate-authority-data": inline}, True),
            ({"certificate-authority-data": inline, "tls-server-name": "kubernetes.default"}, True),
            ({"certificate-authority-data": inline, "tls-server-name": "other.example"}, False),
            ({"insecure-skip-tls-verify": True}, True),
            ({}, False),
        ):
            connection = connect(KubeConfig(str(server.kubeconfig(tmp_path, None, cluster))), Time())
            if works:
                await connection.request("GET", "/x")
            else:
                with pytest.raises(Unreachable):
                    await connection.request("GET", "/x")
            await connection.aclose()


async def test_the_service_account_is_read_again_after_a_refusal_and_asks_no_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, time = Authority(), Time()
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    (tmp_path / "token").write_text("one\n")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*authority.issue("kubernetes").write(tmp_path, "server"))
    allowed = "one"
    async with api_server(otherwise=only(lambda: allowed), tls=context) as server:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", server.url.rpartition(":")[2])
        monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")  # for the pod's other requests, not for its API server
        connection = connect(InCluster(tmp_path), time)
        await connection.request("GET", "/x")
        (tmp_path / "token").write_text("two, at once")
        allowed = "two, at once"
        await connection.request("GET", "/x")
        await connection.aclose()
    assert connection.requests == {("GET", 200): 2, ("GET", 401): 1}


async def test_the_proxies_of_kubeconfig_and_environment_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with api_server(otherwise=answer(200, {})) as proxy:
        proxy_url, proxy.url = proxy.url, "http://api.example"
        monkeypatch.setenv("http_proxy", proxy_url)
        connection = connect(KubeConfig(str(proxy.kubeconfig(tmp_path, {}))), Time())
        await connection.request("GET", "/env")
        await connection.aclose()
        monkeypatch.delenv("http_proxy")
        connection = connect(KubeConfig(str(proxy.kubeconfig(tmp_path, {}, {"proxy-url": proxy_url}))), Time())
        await connection.request("GET", "/file")
        await connection.aclose()
    assert [request.path for request in proxy.requests] == ["/env", "/file"]


@pytest.mark.parametrize("server", ["http://127.0.0.1:1", "https://[::1]:1", "http://localhost:1"])
def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(variable, "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "near.example")
    assert environment_proxy(server) is None
    assert environment_proxy("https://near.example") is None
    assert environment_proxy("https://far.example") == "http://proxy.example:3128"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "there is no kubeconfig"),
        ("", "cannot be used"),
        ("[]", "cannot be used"),
        ("{", "cannot be used"),
        ("clusters: 3", "cannot be used"),
        ("current-context: x\ncontexts: []\nclusters: []\nusers: []", "its list of contexts has no x"),
        ("\x00", "cannot be used"),
        ("words", "it is not a kubeconfig"),
        ("[" * 5_000, "it is not a kubeconfig"),
    ],
)
async def test_a_kubeconfig_that_cannot_be_used_says_what_to_do(tmp_path: Path, text: str | None, says: str) -> None:
    file = tmp_path / "kubeconfig"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ApiError, match=says) as caught:
        await Connection.from_settings(file)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize("entry", ["{name: u, token: secret}", "{token: secret}, {name: u, token: secret}"])
async def test_a_token_in_the_wrong_place_is_not_printed(tmp_path: Path, entry: str) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(
        "{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], "
        f"clusters: [{{name: k, cluster: {{server: 'https://127.0.0.1:1'}}}}], users: [{entry}]}}"
    )
    with pytest.raises(ApiError, match=r"Expected key (user|name) in .*, one of its entries") as caught:
        await Connection.from_settings(file)
    assert "secret" not in str(caught.value)


HERE, INSECURE, PROXY = "http://127.0.0.1:1", {"insecure-skip-tls-verify": True}, "http://proxy.example:3128"


@pytest.mark.parametrize(
    ("server", "token", "cluster", "refusal"),
    [
        ("", "t", INSECURE, "no address of an API server"),
        ("ftp://x", "t", INSECURE, "no address of an API server"),
        ("127.0.0.1:6443", "t", INSECURE, "no address of an API server"),
        ("https://", "t", INSECURE, "no address of an API server"),
        ("http://api.example:8080", "t", {}, "would travel to http://api.example:8080 without encryption; .*https://"),
        ("http://10.0.0.1", "t", {}, "would travel to http://10.0.0.1 without encryption; .*https://"),
        ("http://127.0.0.1.example", "t", {}, "would travel to http://127.0.0.1.example without encryption"),
        (HERE, "t", {"proxy-url": PROXY}, "without encryption"),
        (HERE, "t", {"proxy-url": "socks5://a:1"}, "socks5://a:1' cannot be used; name one that begins with"),
        (HERE, "a\r\nX-Remote-User: admin", {}, "characters that no token has"),
        ("https://127.0.0.1:1", "t", {"certificate-authority": "ca.crt"}, r"ca\.crt cannot be used"),
    ],
)
async def test_a_kubeconfig_that_would_fail_or_leak_its_token_is_refused(
    tmp_path: Path, server: str, token: str, cluster: dict[str, Any], refusal: str
) -> None:
    (tmp_path / "ca.crt").write_text("nonsense")
    config = ApiServer(url=server).kubeconfig(tmp_path, {"token": token}, cluster)
    with pytest.raises(ApiError, match=refusal):
        await Connection.from_settings(config)


async def test_without_a_token_a_server_without_encryption_is_taken(tmp_path: Path) -> None:
    await (await Connection.from_settings(ApiServer(url="http://10.0.0.1").kubeconfig(tmp_path, {}))).aclose()


async def test_a_missing_service_account_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "1")
    with pytest.raises(ApiError, match="automountServiceAccountToken"):
        await InCluster(tmp_path).read()


def test_the_order_of_sources_is_that_of_controller_runtime() -> None:
    pod, env = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, {"KUBECONFIG": "/a:/b"}
    home = KubeConfig(str(Path("~/.kube/config").expanduser()))
    file = Path("/named")
    assert choose_source(file, "c", pod | env) == KubeConfig("/named", "c")
    assert choose_source(None, None, pod | env) == KubeConfig("/a:/b")
    assert choose_source(None, None, pod) == InCluster()
    assert choose_source(None, "c", pod) == KubeConfig(home.paths, "c")
    assert choose_source(None, None, {}) == home
