"""`muster port-forward` against a real API server: what it opens, and what ends it."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from muster.cli.exits import FAILED, INTERRUPTED, INVALID
from tests.cli.conftest import Call, stderr_of
from tests.client.localserver import LocalServer, labels, running

HERE = "127.0.0.1"


@pytest.fixture
def opened(server: LocalServer, mine: str) -> Iterator[tuple[subprocess.Popen[str], int, socket.socket]]:
    """The command, the port it has opened here, and the program's socket in the pod."""
    server.pod("pod-0", labels(mine, 0), **running(), podIP=HERE)
    with (
        socket.create_server((HERE, 0)) as program,
        forwarding(mine, f":{program.getsockname()[1]}") as (process, port),
    ):
        yield process, port, program


@contextlib.contextmanager
def forwarding(*words: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The command, and the port it has opened here."""
    command = [sys.executable, "-m", "muster.cli", "port-forward", *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=os.environ) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline()
            assert address.startswith(f"http://{HERE}:"), process.stderr.read() if process.stderr else ""
            yield process, int(address.rpartition(":")[2])
        finally:
            process.kill()


def test_a_connection_that_is_open_does_not_hold_up_ctrl_c(
    opened: tuple[subprocess.Popen[str], int, socket.socket],
) -> None:
    process, port, program = opened
    with socket.create_connection((HERE, port)) as browser:
        there, _ = program.accept()
        with there:
            browser.sendall(b"hello")
            assert there.recv(5) == b"hello"
            there.sendall(b"HELLO")
            assert browser.recv(5) == b"HELLO"
            process.send_signal(signal.SIGINT)
            assert process.wait() == INTERRUPTED
            assert browser.recv(1) == b"", "the connection was closed"


def test_the_command_ends_when_the_pod_is_gone(
    server: LocalServer, opened: tuple[subprocess.Popen[str], int, socket.socket]
) -> None:
    process, port, _ = opened
    server.drop("v1", "pods", "default", "pod-0", grace=0)
    with socket.create_connection((HERE, port)) as browser:
        assert browser.recv(1) == b""
    assert process.wait() == FAILED
    assert "pod-0 is gone; the same command opens the port of the pod that has its rank now" in process.communicate()[1]


def test_without_ports_it_is_the_dashboard_under_its_own_number(server: LocalServer, mine: str) -> None:
    with socket.create_server((HERE, 0)) as program:  # a port that is free here
        number = program.getsockname()[1]
    server.pod("pod-0", labels(mine, 0), **running(), podIP="127.0.0.2")
    server.status(mine, phase="Running", dashboard=f"head.default:{number}")
    with socket.create_server(("127.0.0.2", number)) as dashboard, forwarding(mine) as (_, port):
        assert port == number
        with socket.create_connection((HERE, port)) as browser:
            there, _ = dashboard.accept()
            with there:
                browser.sendall(b"hello")
                assert there.recv(5) == b"hello"


def test_without_ports_a_run_that_has_no_dashboard_is_a_mistake_of_usage(call: Call, mine: str) -> None:
    assert "mine has no dashboard: write the PORT to open" in stderr_of(call, INVALID, "port-forward", mine)
