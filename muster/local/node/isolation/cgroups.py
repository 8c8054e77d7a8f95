"""Memory limits by cgroup where this machine lets us make one (v1 `memory`, or v2), else RLIMIT_DATA.

A limit that cannot be applied is no reason to fail a pod: the container then simply runs without it.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Group:
    """One container's cgroup."""

    folder: Path
    events: Path

    @property
    def procs(self) -> str:
        """The file that a process joins the cgroup with."""
        return str(self.folder / "cgroup.procs")

    def out_of_memory(self) -> bool:
        """Whether the kernel has killed a process in it for want of memory."""
        try:
            fields = dict(line.split() for line in self.events.read_text(encoding="ascii").splitlines())
        except (OSError, ValueError):
            return False
        return int(fields.get("oom_kill", "0")) > 0

    def remove(self) -> None:
        """Remove the cgroup if no process is left in it."""
        with contextlib.suppress(OSError):  # busy: a process of the container still ends; the next start removes it
            self.folder.rmdir()


class Cgroups:
    """The agent's own folder in the memory hierarchy; `available` says whether there is one."""

    def __init__(self, name: str, root: Path = ROOT) -> None:
        self._version = 2 if (root / "cgroup.controllers").exists() else 1
        self.folder = (root if self._version == 2 else root / "memory") / name
        self.available = self._prepare(root)

    def make(self, name: str, memory: int) -> Group | None:
        """A cgroup limited to `memory` bytes, if that can be had."""
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
            with contextlib.suppress(OSError):
                (folder / "memory.oom.group").write_text("1", encoding="ascii")
            with contextlib.suppress(OSError):
                (folder / "memory.swap.max").write_text("0", encoding="ascii")
        return Group(folder, folder / ("memory.events" if self._version == 2 else "memory.oom_control"))

    def clear(self) -> None:
        """Remove what is left of this agent's cgroups, or of those of an agent that was killed."""
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
            else:
                if not (root / "memory" / "memory.limit_in_bytes").exists():
                    return False
                self.folder.mkdir(exist_ok=True)
        except OSError:
            return False
        return True
