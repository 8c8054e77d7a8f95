"""What a run that was killed leaves behind: a temporary folder and empty control groups. The next run removes them.

Its processes, mounts, interfaces and addresses are gone by then: they were in namespaces that the kernel ended with it.
"""

from pathlib import Path

from tests.real.ground import remove_leftovers
from tests.real_node.machine import cgroups
from tests.real_node.machine.machine import PREFIX


def remove() -> None:
    """Remove what belongs to processes that do not exist any more."""
    remove_leftovers(PREFIX)
    for name in cgroups.named(PREFIX):
        owner = name.removeprefix(PREFIX).partition("-")[0]
        if owner.isdecimal() and not Path("/proc", owner).exists():
            cgroups.remove(name)


def remove_groups_of(pid: int) -> None:
    """At the end of a run that removes its folder itself."""
    for name in cgroups.named(f"{PREFIX}{pid}-"):
        cgroups.remove(name)
