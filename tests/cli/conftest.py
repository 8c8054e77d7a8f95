"""Fixtures that run the ``muster`` command in this process."""

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import structlog
from click.testing import CliRunner, Result

from muster.cli.main import muster
from muster.local.apiserver.objects import object_store
from tests.client.localserver import MANIFEST, LocalServer, local_server

Call = Callable[..., Result]


@pytest.fixture(autouse=True)
def isolated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the cluster, the colours and the files of the user who runs the tests."""
    for name in ("KUBECONFIG", "NO_COLOR", "KUBERNETES_SERVICE_HOST", "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MUSTER_HOME", str(tmp_path / "muster"))


@pytest.fixture
def call() -> Call:
    """Run ``muster`` with these arguments."""

    def run(*words: object, **options: Any) -> Result:
        return CliRunner().invoke(muster, [str(word) for word in words], catch_exceptions=False, **options)

    return run


def stderr_of(call: Call, status: int, *words: object, **options: Any) -> str:
    """Run ``muster``, which ends with that status and prints nothing on standard output; what is on standard error."""
    result = call(*words, **options)
    assert (result.exit_code, result.stdout) == (status, "")
    return result.stderr


class Answering(BaseHTTPRequestHandler):
    """A handler of requests that writes no log."""

    def answer(self, status: int, text: str, **headers: str) -> None:
        """Send that text."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(text.encode())), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Write no line of it."""


@contextmanager
def serving(handler: type[Answering], tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """The address of a server on loopback that answers so."""
    server = HTTPServer(("127.0.0.1", 0), handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign] # a caller that has gone is no news
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalServer]:
    """A cluster without a daemon, which $KUBECONFIG names."""
    with local_server(tmp_path) as running:
        monkeypatch.setenv("KUBECONFIG", str(running.kubeconfig))
        yield running


@pytest.fixture(autouse=True)
def log_settings() -> Iterator[None]:
    """Restore what a command sets for its process, which is that of other tests."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)


@pytest.fixture
def diagnosable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The local cluster admits no Jobs."""
    monkeypatch.setattr(object_store, "admit", lambda *_: None)


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """A file that can be submitted."""
    file = tmp_path / "train.yaml"
    file.write_text(MANIFEST)
    return file


@pytest.fixture
def mine(call: Call, server: LocalServer, manifest: Path) -> str:
    """A submitted experiment."""
    result = call("submit", manifest, "--name", "mine")
    assert (result.exit_code, result.stdout) == (0, "mine\n")
    return "mine"
