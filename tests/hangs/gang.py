"""A gang of real jax processes on this machine, one of whose ranks comes to a halt, and what Muster says of it."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from muster.assist import CODE, FILE, WATCH_CODE, WATCH_FILE
from muster.state.facts import hang
from muster.watchers.probes.jax.probe import JaxProbe
from tests.hangs.played import SIZE, Verdict, ended, watch
from tests.hangs.ports import JAX, held_port

HALTS_AT = 80
"""The step at which a rank comes to a halt; a step takes a fifth of a second."""
PROGRAM = """\
import hashlib, os, sys, threading, time
import jax, jax.numpy as jnp
rank, how, victim, halts_at = int(os.environ["JAXOPERATOR_PROCESS_ID"]), *sys.argv[1:3], int(sys.argv[3])
jax.config.update("jax_cpu_collectives_implementation", "gloo")
if os.environ.get("REPORTS"):
    import muster.jax
    from muster.jax import report
    muster.jax.initialize()
else:
    jax.distributed.initialize()
    report = id
from jax.experimental import multihost_utils

def next_batch(step):
    time.sleep(0.2)
    if step != halts_at or rank != int(victim):
        return jnp.ones(4) * rank
    print("halts", flush=True)
    if how == "sleep":
        time.sleep(3600)
    if how == "lock":
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()
    if how == "stop":
        os.kill(os.getpid(), 19)
    if how == "loop":
        sum(range(10 ** 14))
    if how == "compute":
        hashlib.pbkdf2_hmac("sha256", b"x", b"y", 2 ** 31 - 1)

def train():
    for step in range(1_000_000):
        batch = next_batch(step)
        loss = multihost_utils.process_allgather(batch).sum()
        report(step)

train()
"""
SAYS = {
    "sleep": "in next_batch (train.py:{line})",
    "lock": "in next_batch (train.py:{line})",
    "compute": "in next_batch (train.py:{line})",
    "stop": "no answer (last seen in ",
    "loop": "no answer (last seen in ",
}
"""How a rank comes to a halt, and what is to be said of it."""
LINES = {
    "sleep": "time.sleep(3600)",
    "lock": "        lock.acquire()\n    if",
    "compute": "pbkdf2_hmac(",
}
"""Text that begins in the line at which it stands."""


def place_of(how: str) -> str:
    """The words about the rank that comes to a halt so."""
    if how not in LINES:
        return SAYS[how]
    return SAYS[how].format(line=PROGRAM[: PROGRAM.index(LINES[how])].count("\n") + 1)


def right(how: str, victim: int, said: Verdict) -> bool:
    """The rank and its place are named, and no other."""
    return said.named == (victim,) and f"rank {victim} {place_of(how)}" in said.sentence


@contextmanager
def gang(
    folder: Path, how: str, victim: int, *, reports: bool
) -> Iterator[tuple[str, list["subprocess.Popen[bytes]"]]]:
    """The coordinator's address and the processes, with assist alone or with reports alone."""
    mounted = folder / "mounted"
    mounted.mkdir(parents=True)
    (folder / "train.py").write_text(PROGRAM)
    (mounted / FILE).write_text(CODE)
    (mounted / WATCH_FILE).write_text(WATCH_CODE)
    path = Path(__file__).parents[2] if reports else mounted
    processes: list[subprocess.Popen[bytes]] = []
    with held_port(JAX) as port, ended(processes):
        address = f"127.0.0.1:{port}"
        for rank in range(SIZE):
            environment = {name: value for name, value in os.environ.items() if name != "MUSTER_ASSIST"} | {
                "JAX_PLATFORMS": "cpu",
                "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
                "PYTHONPATH": str(path),
                "JAXOPERATOR_COORDINATOR_ADDRESS": address,
                "JAXOPERATOR_NUM_PROCESSES": str(SIZE),
                "JAXOPERATOR_PROCESS_ID": str(rank),
                "REPORTS": "1" if reports else "",
            }
            with (folder / f"{rank}.log").open("wb") as log:
                command = [sys.executable, "-u", str(folder / "train.py"), how, str(victim), str(HALTS_AT)]
                processes.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
        yield address, processes


async def run(folder: Path, how: str, victim: int, *, reports: bool, patience: float = 180.0) -> Verdict:
    """One run: a gang, a halt, and what was said."""
    with gang(folder, how, victim, reports=reports) as (address, _):
        probe = JaxProbe(address, clock=time.time, expected=SIZE)
        return await watch(probe, folder, victim, hang.stuck, patience=patience)
