"""Control groups of a machine: made by the run, mounted again inside the machine, removed after its end.

Both versions of the kernel's interface: one hierarchy for all controllers (v2), or one for each (v1). Within its cgroup
namespace a machine sees its own group as the root, so that a kubelet there counts the memory of this machine alone.
"""

import contextlib
import os
import subprocess
import time
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
REMOVE_SECONDS = 10.0
CPUSET_FILES = ("cpuset.cpus", "cpuset.mems")


def unified() -> bool:
    """Whether the kernel's interface is that of version 2."""
    return (ROOT / "cgroup.controllers").exists()


def hierarchies() -> list[Path]:
    """The folders in which a group has to be made."""
    if unified():
        return [ROOT]
    return sorted(each for each in ROOT.iterdir() if (each / "tasks").exists() and not each.is_symlink())


def make(name: str) -> list[Path]:
    """A group in each hierarchy. Returns the files to which a process writes its id to join."""
    files = []
    for hierarchy in hierarchies():
        group = hierarchy / name
        group.mkdir(exist_ok=True)
        for file in CPUSET_FILES:  # of version 1: empty in a new group, and without them no process can join
            if (group / file).exists() and not (group / file).read_text().strip():
                (group / file).write_text((hierarchy / file).read_text())
        files.append(group / "cgroup.procs")
    return files


def remove(name: str) -> None:
    """Remove the group with all below it. Its processes have been killed; the kernel may need a moment for them."""
    deadline = time.monotonic() + REMOVE_SECONDS
    for hierarchy in hierarchies():
        while (hierarchy / name).exists():
            for folder, _, _ in os.walk(hierarchy / name, topdown=False):
                with contextlib.suppress(OSError):
                    Path(folder).rmdir()
            if time.monotonic() > deadline:
                return
            time.sleep(0.02)


def named(prefix: str) -> set[str]:
    """The groups with names that begin so."""
    return {each.name for hierarchy in hierarchies() for each in hierarchy.glob(f"{prefix}*") if each.is_dir()}


def mount() -> None:
    """Inside a machine: mount the hierarchies again, with its group as their root."""
    if unified():
        _mount("cgroup2", ROOT, "cgroup2")
        leaf = ROOT / "init"  # a group with processes of its own cannot hand controllers down
        leaf.mkdir()
        for process in (ROOT / "cgroup.procs").read_text().split():
            (leaf / "cgroup.procs").write_text(process)
        wanted = " ".join(f"+{each}" for each in (ROOT / "cgroup.controllers").read_text().split())
        (ROOT / "cgroup.subtree_control").write_text(wanted)
        return
    names = [each.name for each in hierarchies()]
    _mount("tmpfs", ROOT, "tmpfs")
    for name in names:
        (ROOT / name).mkdir()
        _mount("cgroup", ROOT / name, "cgroup", "name=systemd" if name == "systemd" else name)


def _mount(source: str, target: Path, kind: str, options: str = "") -> None:
    command = ["mount", "-t", kind, *(("-o", options) if options else ()), source, str(target)]
    subprocess.run(command, check=True, capture_output=True)
