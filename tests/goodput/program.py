"""A gang of real jax processes that writes down where its time goes, one JSON object a line.

200 steps, a checkpoint every 20. In epoch 0 rank 1 kills itself at step 75. At step 130 rank 1 does nothing for 70 s,
once, and announces no pause; rank 0 waits for it in the collective of the step. A process that is stopped for so long
does not survive: the coordinator has closed its connection, and jax ends it (0.10.2).
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
from jax.experimental import multihost_utils

from muster.jax import initialize, pause, report

STEPS, EVERY, KILLED, FROZEN = 200, 20, 75, 130
FROZEN_SECONDS = 70
STEP_SECONDS = 0.3
SAVE_SECONDS, RESTORE_SECONDS = 1.5, 3.0


def run(folder: Path) -> None:
    """Train from the last checkpoint on."""
    rank, epoch = int(os.environ["JAXOPERATOR_PROCESS_ID"]), int(os.environ["MUSTER_EPOCH"])
    log = (folder / f"log.{rank}").open("a")

    def note(what: str, step: int = -1) -> None:
        log.write(json.dumps({"at": time.time(), "epoch": epoch, "rank": rank, "what": what, "step": step}) + "\n")
        log.flush()

    note("began")
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    initialize()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # jax's own handler works on until the grace period is over
    note("joined")
    checkpoint, frozen = folder / f"checkpoint.{rank}", folder / f"frozen.{rank}"
    first = int(checkpoint.read_text()) if checkpoint.exists() else 0
    report(first)
    if first:
        note("restoring")
        with pause(600, "checkpoint_restore"):
            time.sleep(RESTORE_SECONDS)
        note("restored")
    note("step", first)
    for step in range(first + 1, STEPS + 1):
        time.sleep(STEP_SECONDS)
        multihost_utils.process_allgather(jnp.ones(4) * step)
        note("step", step)
        report(step)
        if rank == 1 and epoch == 0 and step == KILLED:
            note("killed")
            os.kill(os.getpid(), signal.SIGKILL)
        if rank == 1 and step == FROZEN and not frozen.exists():
            frozen.touch()
            note("frozen")
            time.sleep(FROZEN_SECONDS)  # its heartbeats go on, as when its data does not come
            note("thawed")
        if step % EVERY == 0 and step < STEPS:
            note("saving")
            with pause(600, "checkpoint_save"):
                time.sleep(SAVE_SECONDS)
                checkpoint.write_text(str(step))
            note("saved")
    note("ended")


if __name__ == "__main__":
    run(Path(sys.argv[1]))
