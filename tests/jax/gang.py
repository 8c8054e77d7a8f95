"""Two real jax processes that join with ``muster.jax.initialize`` and gather forever; one of them may fail."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from muster.cli.processes.stack import free_port

SIZE = 2
PROGRAM = """
import os
import sys
import jax
import jax.numpy as jnp
import muster.jax

rank = int(os.environ["JAXOPERATOR_PROCESS_ID"])
muster.jax.SHUTDOWN_SECONDS = 3600  # a rank that waits for the others at its end waits for longer than any test
jax.config.update("jax_cpu_collectives_implementation", "gloo")
muster.jax.initialize()
from jax.experimental import multihost_utils

for step in range(1_000_000):
    multihost_utils.process_allgather(jnp.arange(3) + rank)
    if step == 20 and rank == int(os.environ["FAILS"]):
        exec(os.environ["FAILURE"])
"""
RAISES = "raise ValueError('loss is NaN')"


@contextmanager
def gang(
    folder: Path, fails: int, failure: str = RAISES, python: str = sys.executable
) -> Iterator[list["subprocess.Popen[bytes]"]]:
    """The processes by rank; the output of each is in ``<rank>.log``. Those left at the end are killed."""
    processes = []
    try:
        address = f"127.0.0.1:{free_port()}"
        for rank in range(SIZE):
            environment = os.environ | {
                "JAX_PLATFORMS": "cpu",
                "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
                "JAXOPERATOR_COORDINATOR_ADDRESS": address,
                "JAXOPERATOR_NUM_PROCESSES": str(SIZE),
                "JAXOPERATOR_PROCESS_ID": str(rank),
                "FAILS": str(fails),
                "FAILURE": failure,
            }
            with (folder / f"{rank}.log").open("wb") as log:
                processes.append(
                    subprocess.Popen([python, "-u", "-c", PROGRAM], env=environment, stdout=log, stderr=log)
                )
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait()
