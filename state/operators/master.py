"""Operators ``pytorch`` and ``xgboost``: the members meet at rank 0, whose address is in ``MASTER_ADDR``.

Variables and ports are AIchor's (its operators page): MASTER_PORT is 23456 for PyTorch and 9999 for XGBoost.

When a peer is lost, a PyTorch process ends by SIGABRT where NCCL's watchdog ends it (pytorch
torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp), or by an exception that quotes gloo or NCCL's ncclRemoteError. The
collectives of both frameworks cannot go on without a member, so the survivors of a broken gang get a short grace.
"""

from functools import partial

from muster.api.manifest.groups import Group
from muster.api.names import PYTORCH_PORT, XGBOOST_PORT
from muster.state.operators.operator import Operator, size_of
from muster.state.plan import Coordinator, ProbeKind
from muster.state.pod_spec import Env, Source

COORDINATOR_RANK = 0
SIGABRT_EXIT = 134
"""128 + SIGABRT, the exit code of an aborted process."""
SURVIVOR_TEXT = r"(?i)gloo/transport|remote process exited|watchdog"
RESTART_GRACE = 2


def _env(port: int, _group: Group, groups: tuple[Group, ...]) -> tuple[Env, ...]:
    return (
        Env("MASTER_ADDR", Source.COORDINATOR_HOST),
        Env("MASTER_PORT", Source.LITERAL, str(port)),
        Env("WORLD_SIZE", Source.LITERAL, str(size_of(groups))),
        Env("RANK", Source.RANK),
    )


def _coordinator(port: int, _groups: tuple[Group, ...]) -> Coordinator | None:
    return Coordinator(COORDINATOR_RANK, port, ProbeKind.NONE)


PYTORCH = Operator(
    partial(_env, PYTORCH_PORT),
    partial(_coordinator, PYTORCH_PORT),
    survivor_exits=frozenset({SIGABRT_EXIT}),
    survivor_text=SURVIVOR_TEXT,
    restart_grace=RESTART_GRACE,
)
XGBOOST = Operator(partial(_env, XGBOOST_PORT), partial(_coordinator, XGBOOST_PORT), restart_grace=RESTART_GRACE)
