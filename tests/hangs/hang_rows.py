"""The kinds of hang that are played. Each has the best verdict that is possible by what the gang has of Muster.

Beside the jax of the tests, other releases are taken from ``~/.cache/muster-jax/<version>/bin/python`` (or from the
folder that MUSTER_JAX names), where they are: ``python -m venv`` and ``pip install jax==<version>`` make one.
"""

import os
from pathlib import Path

from tests.hangs.rows import Channel, Row, Shown, jax, torch

ASSIST, REPORT, ENDPOINT, NONE = Channel.ASSIST, Channel.REPORT, Channel.ENDPOINT, Channel.NONE
DDP = "torch_ddp.py"
OTHER_JAX = Path(os.environ.get("MUSTER_JAX") or Path.home() / ".cache" / "muster-jax").glob("*/bin/python")

HANGS: tuple[Row, ...] = (
    jax(ASSIST, "sleeps", Shown.PLACES, core=True),
    jax(ASSIST, "two_locks", Shown.PLACES),
    jax(ASSIST, "barrier_of_threads", Shown.PLACES),
    jax(ASSIST, "stopped", Shown.PLACES, victims=(2, 1), memory=0.2, core=True),
    jax(ASSIST, "loop_in_c", Shown.PLACES),
    jax(ASSIST, "full_queue", Shown.PLACES),
    jax(ASSIST, "read_of_a_fifo", Shown.PLACES),
    jax(ASSIST, "file_lock", Shown.PLACES),
    jax(ASSIST, "silent_socket", Shown.PLACES),
    jax(ASSIST, "signal_handler", Shown.PLACES),
    jax(ASSIST, "prompt", Shown.AT_WORK),
    jax(ASSIST, "child_that_stays", Shown.PLACES),
    jax(ASSIST, "child_with_a_lock", Shown.PLACES),
    jax(ASSIST, "lost_task", Shown.PLACES),
    jax(ASSIST, "computes_in_c", Shown.AT_WORK),
    jax(ASSIST, "numpy_loop", Shown.AT_WORK),
    jax(ASSIST, "polls_a_file", Shown.HINT),
    jax(REPORT, "one_lock", Shown.PLACES, core=True),
    jax(REPORT, "polls_a_file", Shown.STEPS),
    jax(REPORT, "numpy_loop", Shown.AT_WORK),
    jax(REPORT, "stopped", Shown.STEPS, core=True),
    *(jax(REPORT, "stopped", Shown.STEPS, core=True, other=str(python)) for python in sorted(OTHER_JAX)),
    jax(REPORT, "lock_until_told", Shown.STEPS, core=True, again=True),
    torch(ASSIST, "one_lock", Shown.RECORDER, victims=(0, 1, 2), core=True),
    torch(ASSIST, "loop_in_c", Shown.RECORDER, victims=(1, 2, 0), core=True),
    torch(ASSIST, "sleeps", Shown.RECORDER, victims=(2, 0, 1), core=True),
    torch(ASSIST, "stopped", Shown.RECORDER, victims=(1, 2), core=True),
    torch(ASSIST, "polls_a_file", Shown.RECORDER, victims=(0, 1, 2)),
    torch(ASSIST, "numpy_loop", Shown.AT_WORK),
    torch(ASSIST, "leaves_early", Shown.MISMATCH, DDP),
    torch(ASSIST, "skips_all_reduce", Shown.MISMATCH, DDP),
    torch(ASSIST, "enters_no_barrier", Shown.RECORDER, DDP, victims=(0, 1, 2)),
    torch(ASSIST, "worker_of_the_loader", Shown.RECORDER, DDP),
    torch(ASSIST, "waits_for_a_key", Shown.RECORDER, DDP, victims=(0, 1, 2)),
    torch(ASSIST, "receives_from_nobody", Shown.RECORDER, DDP),
    torch(ASSIST, "waits_for_all", Shown.HINT, DDP),
    torch(
        ASSIST,
        "no_more_rows",
        Shown.RECORDER,
        "trainer.py",
        needs="transformers",
        memory=0.8,
        victims=(1, 2, 0),
        core=True,
    ),
    *(
        torch(REPORT, way, Shown.STEPS, needs="torch", victims=(2, 1), memory=0.2, core=True)
        for way in ("sleeps", "one_lock", "stopped", "loop_in_c")
    ),
    torch(REPORT, "silent_socket", Shown.STEPS, victims=(0, 1, 2)),
    Row("xgboost", NONE, "never_trains", Shown.HINT, "xgb_train.py", "xgboost", needs="xgboost"),
    Row("xgboost", ENDPOINT, "stays_in_a_round", Shown.GANG, "xgb_train.py", "xgboost", needs="xgboost"),
    Row(
        "ray",
        NONE,
        "actor_never_returns",
        Shown.HINT,
        "ray_driver.py",
        "kuberay",
        size=3,
        victims=(2,),
        needs="ray",
        memory=1.5,
    ),
    Row("plain", NONE, "silent_socket", Shown.HINT, "plain.py", "jobset", victims=(0, 1)),
)
