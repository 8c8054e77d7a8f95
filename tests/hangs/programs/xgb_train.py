"""A training of XGBoost that one rank never joins, or in which it stays in a round."""

import os
import socket
import time
from contextlib import suppress
from typing import Any

import numpy as np
import xgboost
from xgboost.tracker import RabitTracker

from tests.hangs.programs import STEPS, course, pauses
from tests.hangs.programs.ways import FOREVER

SIZE = int(os.environ["WORLD_SIZE"])
host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
address = ""
while not address:
    with suppress(OSError):
        address = socket.gethostbyname(host)
    time.sleep(0.2)
if course.RANK == 0:
    tracker = RabitTracker(n_workers=SIZE, host_ip=address, port=port)
    tracker.start()


class Rounds(xgboost.callback.TrainingCallback):  # type: ignore[misc, unused-ignore]
    """Half a second for each, and the way in one of them."""

    def after_iteration(self, _model: Any, epoch: int, _log: Any) -> bool:
        course.next_batch()
        course.step_ends(epoch)
        if course.MINE and course.opens():
            course.begins()
            if course.WAY == "stays_in_a_round":
                time.sleep(FOREVER)
            if course.WAY == "slow_round":
                pauses.evaluate(course.minutes(2))
            course.ends()
        return False


callbacks: list[Any] = [Rounds()]
if course.REPORTS:
    from muster.xgboost import callback

    callbacks.insert(0, callback())
join = {"dmlc_tracker_uri": host, "dmlc_tracker_port": port, "dmlc_task_id": str(course.RANK), "dmlc_retry": 100}
with xgboost.collective.CommunicatorContext(**join):
    rows = np.random.default_rng(course.RANK).random((64, 4))
    data = xgboost.DMatrix(rows, label=rows.sum(axis=1))
    if course.WAY == "never_trains" and course.MINE:
        (course.FOLDER / STEPS).touch()
        while not course.opens():
            time.sleep(1)
        course.begins()
        time.sleep(FOREVER)
    xgboost.train({"nthread": 1}, data, 10**6, evals=[(data, "train")], callbacks=callbacks, verbose_eval=False)
