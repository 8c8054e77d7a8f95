"""A gang of real jax.distributed processes. In epoch 0 rank 1 kills itself once all have met; later epochs succeed."""

import os
import signal
import time

from jax.experimental import multihost_utils

from muster.jax import initialize

initialize()
multihost_utils.sync_global_devices("met")
time.sleep(2.5)
if os.environ["MUSTER_EPOCH"] == "0" and os.environ["MUSTER_RANK"] == "1":
    os.kill(os.getpid(), signal.SIGKILL)
if os.environ["MUSTER_EPOCH"] == "0":
    time.sleep(600)  # a survivor hangs
multihost_utils.sync_global_devices("done")
