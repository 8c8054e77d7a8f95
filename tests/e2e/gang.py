"""A gang of real jax.distributed processes. In epoch 0 rank 1 dies hard once all have met; later epochs end well."""

import os
import signal
import time

import jax
from jax.experimental import multihost_utils

rank = int(os.environ["JAXOPERATOR_PROCESS_ID"])
jax.distributed.initialize(num_processes=int(os.environ["JAXOPERATOR_NUM_PROCESSES"]), process_id=rank)
multihost_utils.sync_global_devices("met")
time.sleep(2.5)
if os.environ["MUSTER_EPOCH"] == "0" and rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
if os.environ["MUSTER_EPOCH"] == "0":
    time.sleep(600)  # a survivor hangs
multihost_utils.sync_global_devices("done")
