"""SIGKILL of `make real-node` leaves no process, mount or interface; the next run removes its folder and groups.

What a run does in its namespaces is played by shells: a bridge, a mount, and a machine with a network, mounts, process
ids and a control group of its own. In both a program has left its session.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.real.ground import ROOT
from tests.real_node import leftovers, requirements
from tests.real_node.machine import cgroups
from tests.real_node.machine.machine import PREFIX

pytestmark = pytest.mark.skipif(bool(requirements.missing()), reason="it needs what `make real-node` needs")
SECONDS = 60.0
RUNNER = """
import os, sys, tempfile
from pathlib import Path
from tests.real_node.__main__ import play
from tests.real_node.machine import cgroups
from tests.real_node.machine.machine import PREFIX

run = f"{PREFIX}{os.getpid()}-"
folder = Path(tempfile.mkdtemp(prefix=run))
join = "".join(f"echo $$ >{file}; " for file in cgroups.make(f"{run}node-1"))
options = "--net --mount --pid --cgroup --fork --kill-child --mount-proc --propagation private"
(folder / "boot").write_text(f"mount -t tmpfs left /mnt; setsid sleep 1000 & touch {folder}/up; exec sleep 1000")
(folder / "machine").write_text(f"{join}exec unshare {options} sh {folder}/boot")
(folder / "inside").write_text(
    f"ip link add left type bridge; mount -t tmpfs left /mnt; setsid sleep 1000 & sh {folder}/machine & exec sleep 1000"
)
sys.exit(play(folder, ["sh", str(folder / "inside")]))
"""


def processes(mark: str) -> list[int]:
    """Those that have the variable in their environment."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdecimal() and mark.encode() in (process / "environ").read_bytes():
                found.append(int(process.name))
        except OSError:  # it has just ended
            continue
    return found


def namespaces(*pids: int) -> set[str]:
    """The namespaces of processes; of all there are without a number."""
    found = set()
    for pid in pids or [int(each.name) for each in Path("/proc").iterdir() if each.name.isdecimal()]:
        for kind in ("net", "mnt", "pid", "cgroup"):
            try:
                found.add(str(Path(f"/proc/{pid}/ns/{kind}").readlink()))
            except OSError:
                continue
    return found


def wait(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"not within {SECONDS:g} s"
        time.sleep(0.05)


@pytest.fixture
def mark() -> Iterator[str]:
    """A variable that all processes of the run inherit; what is left of them is killed at the end."""
    made = f"MUSTER_KILLED={os.getpid()}-{time.monotonic_ns()}"
    yield made
    for pid in processes(made):
        os.kill(pid, signal.SIGKILL)


def test_a_runner_that_is_killed_leaves_a_folder_and_empty_groups_which_the_next_run_removes(mark: str) -> None:
    name, _, value = mark.partition("=")
    environment = {**os.environ, name: value, "PYTHONPATH": str(ROOT)}
    runner = subprocess.Popen([sys.executable, "-c", RUNNER], cwd=ROOT, env=environment)
    run = f"{PREFIX}{runner.pid}-"
    try:
        wait(lambda: any(Path(tempfile.gettempdir()).glob(f"{run}*/up")))
        made = namespaces(*processes(mark)) - namespaces(os.getpid())
        assert len(made) == 7  # network, mounts, process ids: of the run and of its machine; a group of the latter
    finally:
        runner.kill()
        runner.wait()
    wait(lambda: not processes(mark) and not namespaces() & made)  # so the kernel has removed their mounts and links
    assert "left" not in Path("/proc/mounts").read_text()
    assert not Path("/sys/class/net/left").exists()
    assert cgroups.named(run)
    assert list(Path(tempfile.gettempdir()).glob(f"{run}*"))
    leftovers.remove()
    assert not cgroups.named(run)
    assert not list(Path(tempfile.gettempdir()).glob(f"{run}*"))
