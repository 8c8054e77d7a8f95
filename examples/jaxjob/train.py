"""A repeated sum over all processes of a JAXJob, with the variables that Kubeflow sets.

``COORDINATOR_ADDRESS`` is a host without a port, as in Kubeflow's training operator. Nothing here imports Muster.
"""

import os
import time

import jax
import jax.numpy as jnp
from jax.experimental import multihost_utils

ROUNDS = int(os.environ.get("ROUNDS", "5"))
PAUSE = float(os.environ.get("PAUSE", "0.2"))


def main() -> None:
    """Join the gang, and add up a number of each process."""
    rank, size = int(os.environ["PROCESS_ID"]), int(os.environ["NUM_PROCESSES"])
    address = f"{os.environ['COORDINATOR_ADDRESS']}:{os.environ['COORDINATOR_PORT']}"
    jax.distributed.initialize(address, size, rank)
    print(f"process {rank} of {size}, coordinator {address}")
    for number in range(ROUNDS):
        total = multihost_utils.process_allgather(jnp.array([float(rank + number)])).sum()
        assert total == sum(range(size)) + number * size, total
        print(f"round {number}: the sum over {size} processes is {total:g}")
        time.sleep(PAUSE)
    jax.distributed.shutdown()
    print("done")


if __name__ == "__main__":
    main()
