"""What a run that was killed leaves behind: a temporary folder and empty control groups. The next run removes them.

Its processes, mounts, interfaces and addresses are gone by then: they were in namespaces that the kernel ended with it.
"""

import shutil
import tempfile
from pathlib import Path

from tests.real_node.machine import cgroups
from tests.real_node.machine.machine import PREFIX


def owner(name: str) -> str:
    """The process id in the name of a folder or control group; empty for a foreign name."""
    number = name.removeprefix(PREFIX).partition("-")[0]
    return number if number.isdecimal() else ""


def remove() -> None:
    """Remove what belongs to processes that do not exist any more."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        if owner(folder.name) and not Path("/proc", owner(folder.name)).exists():
            shutil.rmtree(folder, ignore_errors=True)
    for name in cgroups.named(PREFIX):
        if owner(name) and not Path("/proc", owner(name)).exists():
            cgroups.remove(name)


def remove_groups_of(pid: int) -> None:
    """At the end of a run that removes its folder itself."""
    for name in cgroups.named(f"{PREFIX}{pid}-"):
        cgroups.remove(name)
