"""The processes of a container, as the script lists them, and which of them do the work of the rank.

A rank may be one Python process below shells, or a launcher (torchrun, accelerate, ray) with a process for each device.
Data loaders and other children of a worker are not looked at: the worker's own stack shows when it waits for them.

Two shell scripts are run in a container: one lists its processes, one asks some of them for their stacks. They use
``/bin/sh`` and what every image with a shell has (ls, grep, cat, tr, readlink, wc). The first argument of both marks
their own lines. What to do is decided here, not by them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from muster.assist import STACKS

MOST = 16
"""Processes of one rank that are asked."""

_LINK = re.compile(r"\s/proc/(\d+|self)/(exe|ns/mnt) -> (.*)$")
_FOLDER = re.compile(r"/proc/(\d+)/fd:$")
_FILE = re.compile(rf"\s(\d+) -> .*{STACKS}([0-9a-f]{{1,16}})\b")
_STAT = re.compile(r"(\d+) \(.*\) (\S) (\d+) ")
_PYTHON = re.compile(r"(?:^|/)(?:python|pypy)[\d.]*t?(?: \(deleted\))?$")
_LAUNCHER = re.compile(
    r"\btorchrun\b|\btorch\.distributed\.(?:run|launch)\b|\baccelerate(?:\.commands)?[ .]launch\b|\bdeepspeed\b"
    r"|/ray start\b|\bray start\b"
)
_SERVANT = re.compile(r"\bray::IDLE\b|/ray/(?:dashboard|autoscaler|_private)/")
"""Processes of Ray that run no task."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process of the container. ``file`` is the number of its file for stacks, ``main`` its main thread."""

    pid: int
    parent: int
    program: str
    command: str
    file: int | None = None
    main: int | None = None
    state: str = ""
    """One letter of proc(5): R, S, D, T, t, Z."""

    @property
    def python(self) -> bool:
        """Return True if it runs Python."""
        return _PYTHON.search(self.program) is not None

    @property
    def launcher(self) -> bool:
        """Return True if it starts the processes that work, and waits for them."""
        return _LAUNCHER.search(self.command) is not None


@dataclass(frozen=True, slots=True)
class Listing:
    """Processes that the script found. ``spy`` is the path of py-spy in the container."""

    spy: str
    processes: tuple[Process, ...]
    complete: bool


def read_listing(text: str, nonce: str) -> Listing:
    """Return the processes of the container that the script ran in, itself left out."""
    section, spy, root, folder = "", "", 0, 0
    programs: dict[int, str] = {}
    mounts: dict[str, str] = {}
    files: dict[int, tuple[int | None, int | None]] = {}
    commands: dict[int, tuple[int, str, str]] = {}
    last = 0
    for line in text.splitlines():
        if line.startswith(f"{nonce} "):
            section, _, rest = line[len(nonce) + 1 :].partition(" ")
            spy = rest.strip() if section == "spy" else spy
            root = int(rest) if section == "parent" and rest.isdecimal() else root
        elif section == "links" and (link := _LINK.search(line)):
            if link[2] == "exe" and link[1] != "self":
                programs[int(link[1])] = link[3]
            elif link[2] == "ns/mnt":
                mounts[link[1]] = link[3]
        elif section == "files" and (found := _FOLDER.match(line)):
            folder = int(found[1])
        elif section == "files" and folder and (found := _FILE.search(line)):
            files[folder] = int(found[1]), int(found[2], 16)
        elif section == "commands" and (found := _STAT.match(line)):
            last = int(found[1])
            commands[last] = int(found[3]), found[2], ""
        elif section == "commands" and last in commands and line.startswith(" "):
            commands[last] = *commands[last][:2], line.strip()
    parents = {pid: parent for pid, (parent, *_) in commands.items()}
    own = mounts.get("self")
    found_all = tuple(
        Process(pid, parent, programs[pid], command, *files.get(pid, (None, None)), state)
        for pid, (parent, state, command) in sorted(commands.items())
        if pid in programs
        and nonce not in command
        and mounts.get(str(pid)) == own
        and (root == 0 or root in _ancestors(pid, parents))  # 0: its parent is outside of the container
    )
    return Listing(spy, found_all, section == "end")


def workers(processes: tuple[Process, ...]) -> tuple[Process, ...]:
    """Return the processes that do the work of the rank; a launcher only where it has started none."""
    pythons = {each.pid: each for each in processes if each.python and not _SERVANT.search(each.command)}
    parents = {each.pid: each.parent for each in processes}
    chosen = []
    launchers = set()
    for each in pythons.values():
        above = [pythons[pid] for pid in _ancestors(each.pid, parents) if pid in pythons]
        if all(other.launcher for other in above):
            chosen.append(each)
            launchers |= {other.pid for other in above}
    return tuple(each for each in chosen if each.pid not in launchers)


def _ancestors(pid: int, parents: Mapping[int, int]) -> list[int]:
    found: list[int] = []
    while (pid := parents.get(pid, 0)) and pid not in found:
        found.append(pid)
    return found


LIST: Final = f"""\
echo "$1 spy $(command -v py-spy)"
echo "$1 parent $PPID"
echo "$1 links"
ls -ld /proc/self/ns/mnt /proc/[0-9]*/ns/mnt /proc/[0-9]*/exe 2> /dev/null
echo "$1 files"
ls -l /proc/[0-9]*/fd 2> /dev/null | grep -e '^/proc/' -e {STACKS}
echo "$1 commands"
for d in /proc/[0-9]*; do
  {{ read -r s < "$d/stat" && c=$(tr '\\0\\n' '  ' < "$d/cmdline"); }} 2> /dev/null || continue
  echo "$s"
  echo " $c"
done
echo "$1 end"
"""
"""Prints each process of the container: its program, its parent, its words, and its file for stacks."""

DUMP: Final = f"""\
n=$1 spy=$2
shift 2
for p in "$@"; do
  pid=${{p%%:*}} f=/proc/${{p%%:*}}/fd/${{p#*:}}
  if [ "$spy" ]; then
    echo "$n spy $pid"
    "$spy" dump --json --pid "$pid" 2>&1 < /dev/null
    c=$?
    echo
    echo "$n end $c"
    [ "$c" = 0 ] && continue
  fi
  case $(readlink "$f") in *{STACKS}*) ;; *) continue ;; esac
  m=$(grep -s SigBlk "/proc/$pid/status") && [ "$((0x${{m#*:?}} >> 22 & 1))" = 1 ] && continue
  : > "$f" && kill -s URG "$pid"
  i=0 a=
  while [ "$i" -lt 60 ]; do
    i=$((i + 1))
    sleep 0.05 2> /dev/null || sleep 1
    b=$(wc -c < "$f")
    [ "$b" -gt 0 ] && [ "$b" = "$a" ] && break
    a=$b
  done
  echo "$n stacks $pid"
  cat "$f"
  echo
  echo "$n end 0"
done
"""
"""Prints the stacks of processes, given as PID:FILE: by py-spy where there is one, else by the signal.

A process writes them at once, but not before it is scheduled: its file is read when it has stopped growing. A main
thread that blocks the signal (bit 22) gets none: another thread would answer for it.
"""


def list_command(nonce: str) -> list[str]:
    """Return the command that lists the processes of its container."""
    return ["/bin/sh", "-c", LIST, "sh", nonce]


def dump_command(nonce: str, spy: str, chosen: Sequence[Process]) -> list[str]:
    """Return the command that asks the chosen processes for their stacks."""
    targets = (f"{each.pid}:{'' if each.file is None else each.file}" for each in chosen)
    return ["/bin/sh", "-c", DUMP, "sh", nonce, spy, *targets]
