"""A real jax.distributed gang. Rank r joins after (r + 1) x SLOW seconds; all run until FOLDER has a file ``end``.

The coordinator dies when there is a file ``die``. The command that started the program may outlive it.
"""

import os
import signal
import time
from pathlib import Path

from jax.experimental import multihost_utils

from muster.jax import initialize

rank, folder = int(os.environ["MUSTER_RANK"]), Path(os.environ["FOLDER"])
time.sleep(float(os.environ["SLOW"]) * (rank + 1))
initialize()
multihost_utils.sync_global_devices("met")
while not (folder / "end").exists():
    if rank == 0 and (folder / "die").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.1)
multihost_utils.sync_global_devices("done")
