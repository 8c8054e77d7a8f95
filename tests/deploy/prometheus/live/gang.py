"""A real jax.distributed gang. Rank r joins after (r + 1) x SLOW seconds; all run until the file UNTIL exists."""

import os
import time
from pathlib import Path

from jax.experimental import multihost_utils

from muster.jax import initialize

rank = int(os.environ["MUSTER_RANK"])
time.sleep(float(os.environ.get("SLOW", "0")) * (rank + 1))
initialize()
multihost_utils.sync_global_devices("met")
while not Path(os.environ["UNTIL"]).exists():
    time.sleep(0.2)
multihost_utils.sync_global_devices("done")
