"""Tools for measuring: CPU time as the best of several rounds, resident memory, and a server in another process."""

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

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


@contextmanager
def list_server(count: int) -> Iterator[str]:
    """Yield a list server in a process of its own; it ends when its stdin closes."""
    command = [sys.executable, "-m", "benchmarks.servers.list_server", str(count)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
