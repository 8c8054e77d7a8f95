"""A daemon that is started by hand beside the one of `muster local up` is refused, on that cluster only."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.local.home import DaemonNote, Home
from muster.local.second_daemon import refusal
from tests.local.test_home import announcement


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """A running cluster."""
    made = Home(tmp_path / "state")
    with made.acquire():
        made.kubeconfig.write_text("")
        made.announce(announcement(made))
        yield made


@pytest.fixture
def with_daemon(home: Home) -> Home:
    home.note_daemon(DaemonNote(pid=os.getpid(), url="http://127.0.0.1:2", keeper=1))
    return home


@pytest.mark.parametrize("way", ["--kubeconfig {}", "--kubeconfig={}", "MUSTER_KUBECONFIG", "KUBECONFIG"])
def test_a_second_daemon_on_the_local_cluster_is_refused(with_daemon: Home, way: str) -> None:
    path = str(with_daemon.kubeconfig)
    arguments, environ = (way.format(path).split(), {}) if "{" in way else ([], {way: f"{path}:/other"})
    why = refusal(arguments, environ, with_daemon)
    assert f"process {os.getpid()}, http://127.0.0.1:2" in why
    assert "muster local down" in why


@pytest.mark.parametrize("arguments", [[], ["--kubeconfig", "/etc/other"], ["--kubeconfig"], ["--help"]])
def test_a_daemon_for_another_cluster_is_not(with_daemon: Home, arguments: list[str]) -> None:
    environ = {"KUBECONFIG": str(with_daemon.kubeconfig)} if arguments == ["--help"] else {}
    assert refusal(arguments, environ, with_daemon) == ""


def test_a_cluster_without_a_daemon_takes_one(home: Home) -> None:
    assert refusal(["--kubeconfig", str(home.kubeconfig)], {}, home) == ""


def test_what_a_crashed_cluster_left_refuses_nothing(tmp_path: Path) -> None:
    left = Home(tmp_path / "state")
    left.create()
    left.note_daemon(DaemonNote(pid=1, url="http://127.0.0.1:2", keeper=1))
    assert refusal(["--kubeconfig", str(left.kubeconfig)], {}, left) == ""
