"""Tools for measuring: CPU time as the best of several rounds, resident memory, and a server in another process."""

import gc
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

ROUNDS = 3
"""Rounds of measurements that take seconds."""


def best_of(work: Callable[[], None], count: int, rounds: int) -> float:
    """Return CPU microseconds per item of the best round. Use many short rounds: other processes slow most of them."""
    best = float("inf")
    gc.collect()
    for _ in range(rounds):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best / count * 1e6


def resident() -> int:
    """Return resident memory of this process, in bytes."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def megabytes(status: str, field: str) -> float:
    """Return VmRSS or VmHWM of the text of /proc/<pid>/status. The latter is of this program alone.

    ``ru_maxrss`` begins with what the process had before exec, when it was its parent.
    """
    (found,) = re.findall(rf"{field}:\s*(\d+) kB", status)
    return int(found) / 1024


@contextmanager
def serving(name: str, *arguments: int) -> Iterator[tuple[str, IO[str]]]:
    """Yield the URL of one of ``benchmarks.servers`` in a process of its own, and its stdin, with which it ends."""
    command = [sys.executable, "-m", f"benchmarks.servers.{name}", *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}", server.stdin
