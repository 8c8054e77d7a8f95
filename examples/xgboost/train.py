"""Distributed training with XGBoost: every process has its own rows, and all get the same model.

Rank 0 runs the tracker at MASTER_ADDR:MASTER_PORT, and every rank, rank 0 too, joins it as a worker. The other ranks
may come first: they try to connect again until the tracker listens.

Nothing here imports Muster. XGBoost wants the tracker's address as arguments; the variables DMLC_TRACKER_URI,
DMLC_TRACKER_PORT and DMLC_TASK_ID hold the same as MASTER_ADDR, MASTER_PORT and RANK.
"""

import argparse
import hashlib
import os
import socket
import time

import numpy as np
import xgboost
from xgboost.tracker import RabitTracker

ROWS = 2000
"""Rows per process."""


def rows(rank: int) -> "tuple[np.ndarray, np.ndarray]":
    """Return this process's share of the data: is a point inside a ring?"""
    random = np.random.default_rng(rank)
    points = random.uniform(-1, 1, (ROWS, 2))
    radius = np.hypot(points[:, 0], points[:, 1])
    return points, ((radius > 0.4) & (radius < 0.8)).astype(np.float32)


def start_tracker(size: int, port: int) -> RabitTracker:
    """Start the tracker, in a thread of this process, at this pod's own address."""
    tracker = RabitTracker(n_workers=size, host_ip=socket.gethostbyname(os.environ["MASTER_ADDR"]), port=port)
    tracker.start()
    return tracker


def until_named(host: str, port: int, patience: float = 300.0) -> None:
    """Wait for the name of rank 0. A tracker takes every connection for a worker, so none is made to try the port."""
    deadline = time.monotonic() + patience
    while True:
        try:
            socket.getaddrinfo(host, port)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
        else:
            return


def main() -> None:
    """Join the gang, train, compare the models."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])

    until_named(host, port)
    tracker = start_tracker(size, port) if rank == 0 else None
    join = {"dmlc_tracker_uri": host, "dmlc_tracker_port": port, "dmlc_task_id": str(rank), "dmlc_retry": 100}
    with xgboost.collective.CommunicatorContext(**join):
        points, labels = rows(rank)
        evaluation: dict[str, dict[str, list[float]]] = {}
        model = xgboost.train(
            {"objective": "binary:logistic", "max_depth": 4, "nthread": 1, "eval_metric": "logloss"},
            data := xgboost.DMatrix(points, labels),
            num_boost_round=args.rounds,
            evals=[(data, "all")],
            evals_result=evaluation,
            verbose_eval=False,
        )
        mine = hashlib.sha256(model.save_raw("json")).hexdigest()[:16]
        assert xgboost.collective.broadcast(mine, 0) == mine, "the ranks' models differ"
        print(f"rank {rank} of {size}: model {mine}, loss {evaluation['all']['logloss'][-1]:.4f}", flush=True)
    if tracker is not None:
        tracker.wait_for()


if __name__ == "__main__":
    main()
