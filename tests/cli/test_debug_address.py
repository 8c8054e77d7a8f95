"""``muster get`` shows where a debug server is, as the log of its members says it."""

from collections.abc import AsyncIterator

import pytest

from muster.api.errors import Forbidden
from muster.cli.commands.get import debug_addresses
from muster.client import Client
from tests.client.localserver import MANIFEST, LocalServer, labels, running

DEBUGGED = f"{MANIFEST.rstrip()}\n  debug: {{vscode: {{enabled: true}}}}\n"
JUPYTER = (
    "[I ServerApp] Serving notebooks from local directory: /",
    "        http://run-head:8888/lab?token=0f8fad5bd9cb",
    "        http://127.0.0.1:8888/lab?token=0f8fad5bd9cb",
)
SIGN_IN = "https://github.com/login/device and use code 1A2B-3C4D"
TUNNEL = "https://vscode.dev/tunnel/m-0f8fad5b-1"


@pytest.fixture
async def client(server: LocalServer) -> AsyncIterator[Client]:
    async with Client(server.kubeconfig) as opened:
        yield opened


async def started(client: Client, server: LocalServer, manifest: str = DEBUGGED) -> None:
    await client.submit(manifest, name="mine")
    server.status("mine", phase="Running")
    for rank in (0, 1):
        server.pod(f"pod-{rank}", labels("mine", rank), **running())


async def test_the_latest_address_of_each_rank_is_found(client: Client, server: LocalServer) -> None:
    await started(client, server)
    server.print("pod-0", *JUPYTER, ends=True)
    server.print("pod-1", f"To grant access to the server, please log into {SIGN_IN}")
    first = "rank 0: http://127.0.0.1:8888/lab?token=0f8fad5bd9cb"
    assert await debug_addresses(client, await client.get("mine")) == [first, f"rank 1: {SIGN_IN}"]
    server.print("pod-1", f"Open this link in your browser {TUNNEL}", ends=True)
    assert await debug_addresses(client, await client.get("mine")) == [first, f"rank 1: {TUNNEL}"]


async def test_an_address_on_a_foreign_host_or_with_hidden_characters_is_not_shown(
    client: Client, server: LocalServer
) -> None:
    await started(client, server)
    server.print(
        "pod-0",
        "please log into https://github.com.example.net/login/device and use code 1A2B-3C4D",
        "http://jupyter.example.net:8888/lab?token=0f8f",
        "http://127.0.0.1:8888/\x1b[2J\u202elab?token=0f8f",
        "https://vscode.dev.example.net/tunnel/m",
        ends=True,
    )
    assert await debug_addresses(client, await client.get("mine")) == []


async def test_of_another_experiment_no_log_is_read(client: Client, server: LocalServer) -> None:
    await started(client, server, MANIFEST)
    server.print("pod-0", *JUPYTER, ends=True)
    assert await debug_addresses(client, await client.get("mine")) == []


async def test_a_log_that_may_not_be_read_shows_nothing(
    client: Client, server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await started(client, server)

    def refused(*_: object, **__: object) -> None:
        raise Forbidden("pods/log is forbidden", status=403)

    monkeypatch.setattr(client, "logs", refused)
    assert await debug_addresses(client, await client.get("mine")) == []
