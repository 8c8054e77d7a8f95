"""Operator ``xgboost``: rank 0's program runs the tracker at ``MASTER_ADDR``, and every rank joins it.

``MASTER_ADDR``, ``MASTER_PORT``, ``WORLD_SIZE`` and ``RANK`` are AIchor's (its operators page). ``DMLC_*`` hold the
same under the names of XGBoost's own communicator arguments, as in Kubeflow's Trainer.

The tracker is not asked who has joined. A silent connection blocks every worker until it ends, one that closes hangs
the tracker before XGBoost 2.1, and later ones print a warning for it (measured with 1.7.6, 2.0.3, 2.1.4 and 3.2.0).
LightGBM, which runs under this operator too, takes any connection for a machine. So a member has arrived when its pod
is ready.

A worker that has lost another, or waits for too long, raises an XGBoostError that quotes its file of the collectives
(xgboost: src/collective) or names the tracker. Allreduce cannot continue without a member, so the survivors of a broken
gang get a short grace.
"""

from muster.api.manifest.groups import Group
from muster.api.names import XGBOOST_PORT
from muster.kinds.declaration import RESTART_GRACE, Operator, size_of
from muster.state.vocabulary.group import Coordinator, ProbeKind
from muster.state.vocabulary.pod import Env, Source

SURVIVOR_TEXT = r"src/collective/|RabitTracker|\[tracker\b"


def _env(_group: Group, groups: tuple[Group, ...]) -> tuple[Env, ...]:
    size = str(size_of(groups))
    return (
        Env("MASTER_ADDR", Source.COORDINATOR_HOST),
        Env("MASTER_PORT", Source.LITERAL, str(XGBOOST_PORT)),
        Env("WORLD_SIZE", Source.LITERAL, size),
        Env("RANK", Source.RANK),
        Env("DMLC_TRACKER_URI", Source.COORDINATOR_HOST),
        Env("DMLC_TRACKER_PORT", Source.LITERAL, str(XGBOOST_PORT)),
        Env("DMLC_NUM_WORKER", Source.LITERAL, size),
        Env("DMLC_TASK_ID", Source.RANK),
    )


def _coordinator(_groups: tuple[Group, ...]) -> Coordinator | None:
    return Coordinator(0, XGBOOST_PORT, ProbeKind.NONE)


XGBOOST = Operator("xgboost", _env, _coordinator, survivor_text=SURVIVOR_TEXT, restart_grace=RESTART_GRACE)
DECLARED = (XGBOOST,)
