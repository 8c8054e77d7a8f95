"""Signal a whole session, or kill all descendants of this process."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

_SESSION = 3  # position of the session in /proc/<pid>/stat, counted from the state (proc(5))


def kill_session(leader: int, number: int) -> None:
    """Signal every process of a session, in all its process groups. All are descendants of this process.

    The kernel does not reuse a session id while the session has a process, so the pid of a dead leader is safe to use.
    """
    for pid in _descendants(os.getpid()):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if len(fields) > _SESSION and int(fields[_SESSION]) == leader:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def kill_descendants() -> None:
    """Kill every descendant and wait for it. Orphans become children of this process, so the loop reaches all."""
    while True:
        for pid in _descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _descendants(root: int) -> list[int]:
    found: list[int] = []
    waiting = [root]
    while waiting:
        parent = waiting.pop()
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for task in _numbers(f"/proc/{parent}/task"):
                children = Path(f"/proc/{parent}/task/{task}/children").read_text(encoding="ascii").split()
                found.extend(map(int, children))
                waiting.extend(map(int, children))
    return found


def _numbers(folder: str) -> list[int]:
    return [int(entry) for entry in os.listdir(folder) if entry.isdecimal()]  # noqa: PTH208 - names, not paths
