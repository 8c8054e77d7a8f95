"""A small program of real jax.distributed processes: they meet, and wait.

``--absent RANK`` never calls the coordinator. ``--dies RANK`` kills itself in epoch 0 once all have met. With
``--steps`` each rank reports ten steps a second, and one that dies does so after a hundred, which are lost.
"""

import argparse
import os
import signal
import time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--absent", type=int, default=-1)
    parser.add_argument("--dies", type=int, default=-1)
    parser.add_argument("--steps", action="store_true")
    chosen = parser.parse_args()
    rank = int(os.environ["MUSTER_RANK"])
    if rank != chosen.absent:
        from muster.jax import initialize  # jax takes seconds to import

        initialize()
        time.sleep(3)
    dies = rank == chosen.dies and os.environ["MUSTER_EPOCH"] == "0"
    if chosen.steps:
        from muster.jax import report

        for step in range(100 if dies else 36_000):
            report(step)
            time.sleep(0.1)
    if dies:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(3600)


if __name__ == "__main__":
    main()
