"""The cluster process: announcement, files, and the end of its pods."""

import json
import os
import shutil
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muster.cli.processes.stack import module
from muster.local.home import Home
from tests.processes.forked import Forked

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]


class Process:
    """A cluster process under test."""

    def __init__(self, state: Path, *options: str, popen: "type[subprocess.Popen[str]]" = Forked) -> None:
        self.home = Home(state)
        self.process = popen(
            module("muster.local", "--state", str(state), *options),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ready(self) -> dict[str, Any]:
        """Wait for its announcement."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1]
        announced: dict[str, Any] = json.loads(line)
        return announced

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal; returns the exit status."""
        self.process.send_signal(how)
        self.process.communicate(timeout=30)
        return self.process.returncode


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def cluster(state: Path) -> Iterator[Process]:
    process = Process(state, "--memory-only")
    yield process
    if process.process.poll() is None:
        process.end(signal.SIGKILL)


@pytest.mark.parametrize(("how", "popen"), [(signal.SIGTERM, subprocess.Popen), (signal.SIGINT, Forked)])
def test_a_cluster_announces_itself_and_removes_its_files_when_it_stops(
    state: Path, how: signal.Signals, popen: "type[subprocess.Popen[str]]"
) -> None:
    cluster = Process(state, "--memory-only", popen=popen)
    announced = cluster.ready()
    assert announced["pid"] == cluster.process.pid
    running = cluster.home.running()
    assert running is not None
    assert running.url == announced["url"]
    assert stat.S_IMODE(cluster.home.kubeconfig.stat().st_mode) == 0o600
    assert cluster.end(how) == 0
    assert cluster.home.running() is None
    assert not cluster.home.kubeconfig.exists()
    assert not cluster.home.announcement.exists()


def test_a_second_cluster_in_the_same_directory_is_refused(cluster: Process, state: Path) -> None:
    cluster.ready()
    second = Process(state)
    _, said = second.process.communicate(timeout=30)
    assert second.process.returncode == 1
    assert f"a cluster runs here already (process {cluster.process.pid})" in said
    assert cluster.home.running() is not None


def test_a_cluster_starts_after_a_crash(state: Path) -> None:
    first = Process(state)
    first.ready()
    assert first.end(signal.SIGKILL) == -signal.SIGKILL
    assert first.home.announcement.exists()
    assert first.home.running() is None, "a file without its lock is no cluster"
    second = Process(state)
    try:
        announced = second.ready()
        assert announced["pid"] == second.process.pid
    finally:
        assert second.end() == 0


def test_a_port_in_use_is_reported(cluster: Process, tmp_path: Path) -> None:
    port = cluster.ready()["url"].rpartition(":")[2]
    second = Process(tmp_path / "other", "--port", port, "--memory-only")
    _, said = second.process.communicate(timeout=30)
    assert second.process.returncode == 1
    assert f"127.0.0.1:{port} cannot be used" in said


def test_kubectl_works_and_pods_are_stopped_with_the_cluster(cluster: Process, tmp_path: Path) -> None:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not installed")
    environment = {**os.environ, "KUBECONFIG": cluster.ready()["kubeconfig"], "HOME": str(tmp_path)}

    def run(*words: str) -> str:
        done = subprocess.run(
            [kubectl, *words], env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "experiments" in run("api-resources")
    assert run("get", "nodes", "-o", "name") == "node/local\n"
    run("run", "sleeper", "--image=none", "--restart=Never", "--command", "--", "sh", "-c", "echo up; exec sleep 600")
    run("wait", "--for=condition=Ready", "pod/sleeper", "--timeout=30s")
    assert run("logs", "sleeper") == "up\n"
    path = "jsonpath={.status.containerStatuses[0].containerID}"
    process = os.pidfd_open(int(run("get", "pod", "sleeper", "-o", path).removeprefix("process://")))
    try:
        assert cluster.end() == 0
        with pytest.raises(ProcessLookupError):
            signal.pidfd_send_signal(process, signal.SIGCONT)
    finally:
        os.close(process)
