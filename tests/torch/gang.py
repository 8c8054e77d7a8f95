"""Real PyTorch processes (gloo) that report their steps with ``muster.torch``; one may stop in one of four ways.

A step begins with its data, which may be what never comes, then it is reported, and then it reduces.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.frameworks.interpreters import python_of
from tests.hangs.played import ended
from tests.hangs.ports import TORCH, held_port

SIZE = 4
HANGS_AT = 30
SLEEPS, LOCKED, STOPPED, LOOPS = "sleeps", "locked", "stopped", "loops"
WAYS = (SLEEPS, LOCKED, STOPPED, LOOPS)
"""How a rank comes to its next step no more: it sleeps, waits for a lock, is SIGSTOPped, or loops in C."""
PROGRAM = """
import os, signal, threading, time
import torch
import torch.distributed as dist
from muster.torch import report

rank, hangs, way = int(os.environ["RANK"]), int(os.environ["HANGS"]), os.environ["WAY"]
dist.init_process_group("gloo", init_method="env://")
value = torch.ones(4)
for step in range(1_000_000):
    time.sleep(0.05)
    if rank == hangs and step == int(os.environ["HANGS_AT"]):
        if way == "sleeps":
            time.sleep(3600)
        if way == "locked":
            lock = threading.Lock()
            lock.acquire()
            lock.acquire()
        if way == "stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
        if way == "loops":
            sum(range(10**12))
    report(step, loss=float(value.sum()))
    dist.all_reduce(value)
    value /= dist.get_world_size()
"""


@contextmanager
def gang(folder: Path, hangs: int, way: str) -> Iterator[tuple[str, list["subprocess.Popen[bytes]"]]]:
    """Address of the store and the processes by rank; the output of each is in ``<rank>.log``. ``hangs`` -1: none."""
    processes: list[subprocess.Popen[bytes]] = []
    with held_port(TORCH) as port, ended(processes):
        for rank in range(SIZE):
            environment = os.environ | {
                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(SIZE), "RANK": str(rank),
                "PYTHONPATH": str(Path(__file__).parents[2]), "OMP_NUM_THREADS": "1",
                "HANGS": str(hangs), "WAY": way, "HANGS_AT": str(HANGS_AT),
            }  # fmt: skip
            with (folder / f"{rank}.log").open("wb") as log:
                command = [str(python_of("torch")), "-u", "-c", PROGRAM]
                processes.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
        yield f"127.0.0.1:{port}", processes
