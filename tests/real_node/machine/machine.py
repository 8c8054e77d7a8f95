"""Start a machine, take its power, freeze its programs, cut its network: from the run, or from one of its tests."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.real.ground import ROOT
from tests.real.plane.programs import Program, ProgramFailed
from tests.real_node.addresses import BRIDGE, Place
from tests.real_node.machine import cgroups
from tests.real_node.machine.plan import Plan

START_SECONDS = 90.0
OWNER = "MUSTER_NODE_OWNER"
"""The environment variable with the process id of the run, as the outermost pid namespace counts."""
PREFIX = "muster-node-"
"""Of temporary folders and control groups; the owner's process id follows."""


class Machine:
    """One machine, described by its plan. Its folder is its disk, which outlives a loss of power."""

    def __init__(self, plan: Plan, place: Place) -> None:
        self.plan = plan
        self.place = place
        self.folder = Path(plan.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._program: Program | None = None

    @property
    def cgroup(self) -> str:
        return f"{PREFIX}{os.environ[OWNER]}-{self.plan.name}"

    def start(self) -> None:
        """Power on: returns when its programs run. Whether the node is Ready is the API server's to say."""
        self.plan.write(self.folder / "plan.json")
        log = self.folder / "machine.log"
        log.unlink(missing_ok=True)
        for stale in (*self.folder.glob("run/*.hold"), *self.folder.glob("run/*.expected")):
            stale.unlink()
        join = "".join(f"echo $$ >{file}; " for file in cgroups.make(self.cgroup))
        unshare = "exec unshare --net --mount --pid --cgroup --fork --kill-child --mount-proc --propagation private"
        boot = f'{unshare} "{sys.executable}" -m tests.real_node.machine.boot "{self.folder / "plan.json"}"'
        program = Program(self.plan.name, ["sh", "-c", f"{join}{boot}"], log, environment={"PYTHONPATH": str(ROOT)})
        self._program = program
        (self.folder / "pid").write_text(str(program.pid))
        program.until(lambda: "up" in log.read_text().splitlines(), START_SECONDS, "up")
        _ip("link", "delete", self.place.link, check=False)
        _ip("link", "add", self.place.link, "type", "veth", "peer", "name", "eth0", "netns", str(program.pid))
        _ip("link", "set", self.place.link, "master", BRIDGE, "up")
        _ip("route", "replace", self.place.pods, "via", self.place.address)
        program.until(lambda: "ready" in log.read_text().splitlines(), START_SECONDS)

    def power_off(self) -> None:
        """SIGKILL for everything on it, at once; nothing is said to the API server."""
        pid = int((self.folder / "pid").read_text())
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        if self._program is not None:
            self._program.kill()
        cgroups.remove(self.cgroup)

    def signal(self, program: str, number: signal.Signals) -> None:
        """To one of its programs (`kubelet`, `containerd`, `kube-proxy`, `kube-network-policies`)."""
        inner = (self.folder / "run" / f"{program}.pid").read_text()
        self.within("kill", f"-{int(number)}", inner)

    def within(self, *command: str, check: bool = True) -> str:
        """A command of root on the machine; its output."""
        unshare = (self.folder / "pid").read_text()
        init = Path(f"/proc/{unshare}/task/{unshare}/children").read_text().split()[0]
        enter = ["nsenter", "--target", init, "--net", "--mount", "--pid", "--cgroup", "--", *command]
        return subprocess.run(enter, check=check, capture_output=True, text=True).stdout

    @contextlib.contextmanager
    def frozen(self, program: str) -> Iterator[None]:
        """SIGSTOP, and SIGCONT afterwards."""
        self.signal(program, signal.SIGSTOP)
        try:
            yield
        finally:
            self.signal(program, signal.SIGCONT)

    @contextlib.contextmanager
    def cut_off(self) -> Iterator[None]:
        """Its link to the bridge is down."""
        _ip("link", "set", self.place.link, "down")
        try:
            yield
        finally:
            _ip("link", "set", self.place.link, "up")


def _ip(*arguments: str, check: bool = True) -> None:
    done = subprocess.run(["ip", *arguments], check=False, capture_output=True, text=True)
    if check and done.returncode != 0:
        raise ProgramFailed(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
