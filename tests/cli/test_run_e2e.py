"""``muster run`` and ``muster local`` with a real cluster, a real daemon and real processes.

Commands, clusters and daemons are forked, except where the question is how the command starts and ends its children.
"""

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from muster.cli.processes.stack import module
from tests.processes.forked import Forked

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

MANIFEST = """
kind: AIchorManifest
apiVersion: 0.2.3
spec:
  operator: jax
  image: none
  command: "{command}"
  timeout: 5m
  restartPolicy: {{backoffLimit: {restarts}}}
  types:
    worker:
      count: 2
      resources: {{cpus: 0.1, ramRatio: 2}}
"""

Muster = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def muster(tmp_path: Path) -> Iterator[Muster]:
    """Start ``muster`` with these arguments and a home of its own; kill what is left of it at the end."""
    with started_by(Forked, tmp_path) as start:
        yield start


@pytest.fixture
def executed(tmp_path: Path) -> Iterator[Muster]:
    """The same by an interpreter of its own, which starts one for the cluster and one for the daemon."""
    with started_by(subprocess.Popen, tmp_path) as start:
        yield start


@contextlib.contextmanager
def started_by(popen: "type[subprocess.Popen[str]]", folder: Path) -> Iterator[Muster]:
    """Start ``muster`` with ``popen``."""
    environment = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "NO_COLOR")}
    environment |= {"MUSTER_HOME": str(folder / "home"), "HOME": str(folder)}
    started: list[subprocess.Popen[str]] = []

    def start(*words: object, **variables: str) -> "subprocess.Popen[str]":
        command, pipe = module("muster.cli", *map(str, words)), subprocess.PIPE
        known = environment | variables
        started.append(popen(command, env=known, stdout=pipe, stderr=pipe, text=True, cwd=folder))
        return started[-1]

    try:
        yield start
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
            process.communicate()


@pytest.fixture
def manifest(tmp_path: Path) -> Callable[..., Path]:
    """A manifest file whose two members run this command."""

    def write(command: str, *, restarts: int = 0) -> Path:
        file = tmp_path / "train.yaml"
        file.write_text(MANIFEST.format(command=command, restarts=restarts))
        return file

    return write


def until(process: "subprocess.Popen[str]", words: str, *, err: bool = False) -> str:
    """Read a stream until a line contains ``words``."""
    stream = process.stderr if err else process.stdout
    assert stream is not None
    for line in stream:
        if words in line:
            return line
    raise AssertionError(f"no line with {words!r}")


def processes_of(home: Path) -> list[int]:
    """Every process that names this home on its command line."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and str(home).encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


def test_success(executed: Muster, manifest: Callable[..., Path], tmp_path: Path) -> None:
    process = executed("run", manifest("echo member $JAXOPERATOR_PROCESS_ID"))
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert out == "rank 0 | member 0\n"
    assert "Succeeded" in err.splitlines()[-1]
    assert processes_of(tmp_path / "home") == []
    assert list((tmp_path / "home/runs").iterdir()) == []


def test_interruption_cancels_and_leaves_nothing(
    executed: Muster, manifest: Callable[..., Path], tmp_path: Path
) -> None:
    process = executed("run", manifest("echo up; sleep 600"))
    until(process, "up")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130, err
    assert "cancelling train-" in err
    assert processes_of(tmp_path / "home") == []


def test_a_killed_run_leaves_no_process(executed: Muster, manifest: Callable[..., Path], tmp_path: Path) -> None:
    process = executed("run", manifest("echo up; sleep 600"))
    until(process, "up")
    left = [os.pidfd_open(pid) for pid in processes_of(tmp_path / "home") if pid != process.pid]
    assert len(left) >= 2, "cluster and daemon"
    process.kill()
    for descriptor in left:
        assert select.select([descriptor], [], [], 20)[0], "it ends by itself"
        os.close(descriptor)


def test_local_up_serves_every_verb_and_goes_down(muster: Muster, manifest: Callable[..., Path]) -> None:
    up = muster("local", "up")
    kubeconfig = until(up, "kubeconfig").strip()
    assert Path(kubeconfig).is_file()
    status = json.loads(muster("local", "status", "-o", "json").communicate()[0])
    assert (status["running"], status["kubeconfig"]) == (True, kubeconfig)
    file = manifest("echo up; sleep 600", restarts=1)
    assert muster("submit", file, "--name", "victim").communicate()[0] == "victim\n"
    assert muster("wait", "victim", "--for", "Scheduled", "--timeout", "60").wait() == 0
    follower = muster("logs", "victim", "-f", "--rank", "1")
    until(follower, "up")
    killed = muster("local", "kill", "victim", "--rank", "1")
    assert killed.communicate()[0].startswith("SIGKILL sent to rank 1 (victim-worker-")
    until(follower, "up")
    explained = muster("explain", "victim").communicate()[0]
    assert "Epoch 0 ended because rank 1" in explained
    assert "ended with exit code 137 (SIGKILL)" in explained
    assert muster("cancel", "victim").wait() == 0
    assert muster("wait", "victim").wait() == 1
    assert follower.wait(30) == 0
    checked = muster("doctor")
    report = checked.communicate()[0]
    assert checked.returncode == 0, report
    assert "daemon: ready at http://127.0.0.1:" in report
    assert "series at http://127.0.0.1:" in report
    assert muster("delete", "victim", "--yes").communicate()[0] == "victim\n"
    assert muster("list", "-o", "name").communicate()[0] == ""
    using = muster("run", manifest("test $LENT = yes"), LENT="yes")
    assert using.wait() == 0
    assert muster("local", "down").wait() == 0
    assert up.wait() == 0
    assert muster("local", "status").wait() == 1


def test_pods_get_the_callers_python_environment_and_directory(muster: Muster, tmp_path: Path) -> None:
    active = tmp_path / "venv" / "bin"
    active.mkdir(parents=True)
    (active / "python3").write_text(f'#!/bin/sh\nACTIVE=yes exec {sys.executable} "$@"\n')
    (active / "python3").chmod(0o755)
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "mine.py").write_text("")
    script = (
        "import json, os, mine\n"
        "names = 'ACTIVE', 'HOME', 'XLA_FLAGS', 'CUDA_VISIBLE_DEVICES', 'GIVEN', 'JAXOPERATOR_PROCESS_ID'\n"
        "print(json.dumps([os.getcwd(), *map(os.environ.get, names)]))\n"
    )
    (tmp_path / "show.py").write_text(script)
    process = muster(
        *("run", "-n", 1, "--env", "GIVEN=a b", "--", "python3", "show.py"),
        PATH=f"{active}:{os.environ['PATH']}",
        PYTHONPATH=f"{modules}:{os.environ.get('PYTHONPATH', '')}",
        XLA_FLAGS="--xla_x=1 --xla_y=2",
        CUDA_VISIBLE_DEVICES="3",
        JAXOPERATOR_PROCESS_ID="7",
    )
    out, err = process.communicate()
    assert process.returncode == 0, err
    shown = json.loads(out.removeprefix("rank 0 | "))
    assert shown == [str(tmp_path), "yes", str(tmp_path), "--xla_x=1 --xla_y=2", "3", "a b", "0"]
    assert f"begin in {tmp_path}; python3 is {active / 'python3'}" in err
    assert "changed in it: GIVEN (set by --env); JAXOPERATOR_PROCESS_ID (set by Muster)" in err


def test_an_interruption_leaves_the_pods_their_grace(muster: Muster, tmp_path: Path) -> None:
    (tmp_path / "save.py").write_text(
        "import signal, sys, time\n"
        "def save(*_):\n"
        "    time.sleep(2)\n"
        "    open('saved', 'w').close()\n"
        "    sys.exit()\n"
        "signal.signal(signal.SIGTERM, save)\n"
        "print('up', flush=True)\n"
        "signal.pause()\n"
    )
    process = muster("run", "-n", 1, "--", "python3", "save.py")
    until(process, "up")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130, err
    assert "have 3 s to end" in err
    assert (tmp_path / "saved").exists()


def test_a_second_interruption_stops_the_programs_on_a_shared_cluster_at_once(muster: Muster, tmp_path: Path) -> None:
    script = Path(f"stubborn-{tmp_path.name}.py")
    (tmp_path / script).write_text(
        "import signal, time\nsignal.signal(signal.SIGTERM, lambda *_: None)\nprint('up', flush=True)\n"
        "while True: time.sleep(1)\n"
    )
    up = muster("local", "up")
    until(up, "kubeconfig")
    process = muster("run", "-n", 1, "--", "python3", script)
    until(process, "up")
    [program] = [pid for pid in processes_of(script) if pid != process.pid]
    ended = os.pidfd_open(program)
    process.send_signal(signal.SIGINT)
    until(process, "interrupt again", err=True)
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    assert select.select([ended], [], [], 10)[0]
    os.close(ended)


def test_a_run_beside_another_gets_a_share_of_what_is_free_or_is_refused(
    muster: Muster, manifest: Callable[..., Path]
) -> None:
    up = muster("local", "up")
    until(up, "kubeconfig")
    assert muster("submit", manifest("echo up; sleep 600"), "--name", "hang").wait() == 0
    until(muster("logs", "hang", "-f", "--rank", "1"), "up")
    whole = os.cpu_count() or 1
    _, err = muster("run", "-n", 2, "--", "true").communicate()
    assert "note: experiment hang holds 0.2 CPU and 0.4 GB; each worker gets" in err
    assert "Succeeded" in err.splitlines()[-1], err
    refused = muster("run", "-n", 2, "--cpus", whole / 2, "--", "true")
    _, err = refused.communicate()
    assert refused.returncode == 1
    sentence = f"2 workers need {whole} CPU, {whole - 0.2:g} are free: experiment hang holds 0.2"
    assert err.splitlines()[-1] == f"muster: {sentence}; wait for it: muster wait hang"
    refused = muster("run", manifest("true"), "--set", f"types.worker.resources.cpus={whole}")
    assert "this machine has" in refused.communicate()[1]
    assert muster("local", "down").wait() == 0
    assert up.wait() == 0


HEALTHY = """
import time
import muster.jax
muster.jax.initialize()
import jax
import jax.numpy as jnp
from jax.experimental import multihost_utils
while True:
    multihost_utils.process_allgather(jnp.ones(1))
    print("working", flush=True)
    time.sleep(0.1)
"""


def test_an_interruption_ends_a_healthy_jax_program_that_ignores_it(muster: Muster, tmp_path: Path) -> None:
    (tmp_path / "healthy.py").write_text(HEALTHY)
    process = muster("run", "-n", 2, "--", sys.executable, "healthy.py", JAX_PLATFORMS="cpu")
    until(process, "working")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130, err
    assert re.search("waiting for 2 ranks to end, [0-3] s left; Ctrl-C again stops them now", err), err
    assert "cancelled, because this command was interrupted" in err.splitlines()[-1]
    assert processes_of(tmp_path / "home") == []
