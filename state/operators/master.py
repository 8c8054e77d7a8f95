"""Operators ``pytorch`` and ``xgboost``: the members meet at rank 0, whose address is in ``MASTER_ADDR``.

Variables and ports are AIchor's (its operators page): MASTER_PORT is 23456 for PyTorch and 9999 for XGBoost.
"""

from functools import partial

from muster.api.manifest.groups import Group
from muster.api.names import PYTORCH_PORT, XGBOOST_PORT
from muster.state.operators.framework import Framework, size_of
from muster.state.plan import Coordinator, Env, ProbeKind, Source


def _env(port: int, _group: Group, groups: tuple[Group, ...]) -> tuple[Env, ...]:
    return (
        Env("MASTER_ADDR", Source.COORDINATOR_HOST),
        Env("MASTER_PORT", Source.LITERAL, str(port)),
        Env("WORLD_SIZE", Source.LITERAL, str(size_of(groups))),
        Env("RANK", Source.RANK),
    )


def _coordinator(port: int, _groups: tuple[Group, ...]) -> Coordinator | None:
    return Coordinator(0, port, ProbeKind.NONE)


PYTORCH = Framework(partial(_env, PYTORCH_PORT), partial(_coordinator, PYTORCH_PORT))
XGBOOST = Framework(partial(_env, XGBOOST_PORT), partial(_coordinator, XGBOOST_PORT))
