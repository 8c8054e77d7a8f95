"""Memory limits by cgroup (v1 `memory`, or v2). Where none can be created, RLIMIT_DATA is used instead.

With cgroup v2 a container that has a memory limit also has a limit of `PIDS` processes and threads, so that a program
that forks forever does not stop the machine. Elsewhere there is none.

A limit that cannot be applied does not fail the pod: the container runs without it.
"""

import contextlib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
PIDS = 16_384
"""Far above what a trainer has: a few threads per CPU, and its data loaders."""


@dataclass(frozen=True, slots=True)
class Group:
    """One container's cgroup."""

    folder: Path
    events: Path

    @property
    def procs(self) -> str:
        """Return the file that a process joins the cgroup with."""
        return str(self.folder / "cgroup.procs")

    def out_of_memory(self) -> bool:
        """Return True if the kernel has killed a process in it because of the limit."""
        try:
            fields = dict(line.split() for line in self.events.read_text(encoding="ascii").splitlines())
        except (OSError, ValueError):
            return False
        return int(fields.get("oom_kill", "0")) > 0

    def remove(self) -> None:
        """Remove the cgroup if no process is left in it."""
        with contextlib.suppress(OSError):  # busy while a process is ending; the next start removes it
            self.folder.rmdir()


class Cgroups:
    """The agent's own folder in the memory hierarchy; `available` is False if it cannot be created."""

    def __init__(self, name: str, root: Path = ROOT) -> None:
        self._version = 2 if (root / "cgroup.controllers").exists() else 1
        self.folder = (root if self._version == 2 else root / "memory") / name
        self.available = self._prepare(root)

    def make(self, name: str, memory: int) -> Group | None:
        """Create a cgroup with a limit of `memory` bytes; None if that fails."""
        if not self.available:
            return None
        folder = self.folder / name
        limit = "memory.max" if self._version == 2 else "memory.limit_in_bytes"
        try:
            folder.mkdir(exist_ok=True)
            (folder / limit).write_text(str(memory), encoding="ascii")
        except OSError:
            return None
        if self._version == 2:
            for file, value in (("memory.oom.group", 1), ("memory.swap.max", 0), ("pids.max", PIDS)):
                with contextlib.suppress(OSError):
                    (folder / file).write_text(str(value), encoding="ascii")
        return Group(folder, folder / ("memory.events" if self._version == 2 else "memory.oom_control"))

    def clear(self) -> None:
        """Remove the cgroups of this agent, and those that a killed agent of the same name left."""
        if not self.folder.is_dir():
            return
        for folder in (*(each for each in self.folder.iterdir() if each.is_dir()), self.folder):
            with contextlib.suppress(OSError):
                folder.rmdir()

    def _prepare(self, root: Path) -> bool:
        self.clear()
        try:
            if self._version == 2:
                if "memory" not in (root / "cgroup.controllers").read_text(encoding="ascii").split():
                    return False
                (root / "cgroup.subtree_control").write_text("+memory", encoding="ascii")
                self.folder.mkdir(exist_ok=True)
                (self.folder / "cgroup.subtree_control").write_text("+memory", encoding="ascii")
                with contextlib.suppress(OSError):
                    for folder in (root, self.folder):
                        (folder / "cgroup.subtree_control").write_text("+pids", encoding="ascii")
            else:
                if not (root / "memory" / "memory.limit_in_bytes").exists():
                    return False
                self.folder.mkdir(exist_ok=True)
        except OSError:
            return False
        return True
