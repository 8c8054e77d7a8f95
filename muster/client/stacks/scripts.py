"""The two shell scripts that are run in a container: one lists its processes, one asks some of them for their stacks.

They use ``/bin/sh`` and what every image with a shell has (ls, grep, cat, tr, readlink, wc). The
first argument of both marks their own lines. What to do is decided by ``processes``, not by them.
"""

from collections.abc import Sequence
from typing import Final

from muster.assist import STACKS
from muster.client.stacks.processes import Process

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

A process writes them at once, but not before it is scheduled: its file is read when it has stopped growing.
"""


def list_command(nonce: str) -> list[str]:
    """The command that lists the processes of its container."""
    return ["/bin/sh", "-c", LIST, "sh", nonce]


def dump_command(nonce: str, spy: str, chosen: Sequence[Process]) -> list[str]:
    """The command that asks the chosen processes for their stacks."""
    targets = (f"{each.pid}:{'' if each.file is None else each.file}" for each in chosen)
    return ["/bin/sh", "-c", DUMP, "sh", nonce, spy, *targets]
