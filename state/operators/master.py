"""Operators ``pytorch`` and ``xgboost``: the members meet at rank 0, whose address is in ``MASTER_ADDR``.

Variables and ports are AIchor's (its operators page): MASTER_PORT is 23456 for PyTorch and 9999 for XGBoost.
"""

from muster.api.groups import Group
from muster.api.names import PYTORCH_PORT, XGBOOST_PORT
from state.operators.framework import Framework, size_of
from state.plan import Coordinator, Env, ProbeKind, Source


def _framework(port: int) -> Framework:
    def env(group: Group, groups: tuple[Group, ...]) -> tuple[Env, ...]:
        return (
            Env("MASTER_ADDR", Source.COORDINATOR_HOST),
            Env("MASTER_PORT", Source.LITERAL, str(port)),
            Env("WORLD_SIZE", Source.LITERAL, str(size_of(groups))),
            Env("RANK", Source.RANK),
        )

    return Framework(env, lambda groups: Coordinator(0, port, ProbeKind.NONE))


PYTORCH = _framework(PYTORCH_PORT)
XGBOOST = _framework(XGBOOST_PORT)
