"""The kinds of gang that are healthy and slow: of none of them is a verdict right."""

from functools import partial

from tests.hangs.rows import Channel, Row, Shown, jax, torch

ASSIST, REPORT, ENDPOINT, NONE = Channel.ASSIST, Channel.REPORT, Channel.ENDPOINT, Channel.NONE
LEADS = (0, 0, 1)
"""Rank 0 evaluates and writes in most programs."""
of_jax = partial(jax, shown=Shown.NOTHING, victims=LEADS)
of_torch = partial(torch, shown=Shown.NOTHING, victims=LEADS)

HEALTHY: tuple[Row, ...] = (
    of_jax(ASSIST, "evaluation"),
    of_jax(REPORT, "evaluation"),
    of_jax(ASSIST, "checkpoint"),
    of_jax(REPORT, "announced_by_jax", core=True),
    of_jax(REPORT, "announced_by_muster"),
    of_jax(ASSIST, "announced_by_muster"),
    of_jax(ASSIST, "announced_upload"),
    of_jax(REPORT, "announced_upload"),
    of_jax(ASSIST, "growing_checkpoints"),
    of_jax(ASSIST, "uneven_data"),
    of_jax(REPORT, "accumulation"),
    of_jax(ASSIST, "recompilation", memory=0.5),
    of_jax(ASSIST, "notebook"),
    of_jax(ASSIST, "notebook_of_one"),
    of_jax(ASSIST, "warm_up"),
    of_jax(ASSIST, "last_checkpoint"),
    of_torch(ASSIST, "evaluation"),
    of_torch(REPORT, "evaluation"),
    of_torch(ASSIST, "checkpoint"),
    of_torch(REPORT, "announced_by_torch", core=True),
    of_torch(REPORT, "announced_by_programs"),
    of_torch(ASSIST, "announced_by_muster"),
    of_torch(ASSIST, "announced_upload"),
    of_torch(REPORT, "growing_checkpoints"),
    of_torch(ASSIST, "uneven_data"),
    of_torch(ASSIST, "accumulation"),
    of_torch(ASSIST, "notebook"),
    of_torch(REPORT, "notebook"),
    of_torch(ASSIST, "notebook_of_one"),
    of_torch(REPORT, "evaluation_of_all"),
    of_torch(ASSIST, "fetch_by_one"),
    of_torch(ASSIST, "fetch_by_all"),
    of_torch(REPORT, "steps_on", needs="torch", size=4, memory=0.2, core=True),
    of_torch(ASSIST, "slow_rows", program="trainer.py", needs="transformers"),
    Row("xgboost", ENDPOINT, "slow_round", Shown.NOTHING, "xgb_train.py", "xgboost", needs="xgboost"),
    Row("ray", NONE, "long_task", Shown.NOTHING, "ray_driver.py", "kuberay", victims=(2,), needs="ray", memory=1.5),
    Row("plain", NONE, "computes_and_prints_nothing", Shown.NOTHING, "plain.py", "jobset", victims=(0, 1)),
    Row("jax", REPORT, "apart", Shown.NOTHING, "apart.py", "jax", victims=(0,), core=True),
)
