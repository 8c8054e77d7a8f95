"""PyTorchJobs that Kubeflow's training operator runs (kubeflow.org/v1, v1.9.4: pkg/controller.v1/pytorch).

Where there is a Master, it is rank 0, and worker N is rank N + 1 (envvar.go): it opens the store at which all meet. A
job without one has no address of a store in its environment. An elastic one meets at the rendezvous of ``torchrun``,
and any number of its workers may be enough. So only a Master is asked who has arrived.
"""

from collections.abc import Mapping
from typing import Any, Final

from muster.api.names import PYTORCH_PORT
from muster.kinds.declaration import SUBMITTED, PlanError, PodSource, WatchedKind
from muster.kinds.kubeflow.watched import (
    API_VERSION,
    LABEL,
    SUSPEND,
    groups_of,
    job_plan,
    place_in,
    replicas_of,
    state_in,
)
from muster.kinds.planning.watched_plan import Framework
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.subject import Subject

PYTORCHJOB: Final = Subject(API_VERSION, "PyTorchJob", "pytorchjobs")
FIELD: Final = "pytorchReplicaSpecs"
MASTER: Final = "master"
WORKER: Final = "worker"
CONTAINER: Final = "pytorch"
PORT_NAME: Final = "pytorchjob-port"


def plan_of(obj: Mapping[str, Any]) -> Plan:
    """Return the plan of a PyTorchJob. Raises ``PlanError``."""
    replicas = replicas_of(obj, FIELD, (MASTER, WORKER))
    if not replicas:
        raise PlanError(f"spec.{FIELD}: neither Master nor Worker")
    master = replicas.get(MASTER)
    asked = Framework("pytorch", ProbeKind.TORCH, master.port(CONTAINER, PORT_NAME, PYTORCH_PORT)) if master else None
    return job_plan(obj, PYTORCHJOB, groups_of(FIELD, replicas), asked or Framework("pytorch"))


DECLARED: Final = (
    WatchedKind(
        PYTORCHJOB,
        (PodSource("pytorchjobs", LABEL, place_in(PYTORCHJOB, frozenset((MASTER, WORKER)))),),
        plan_of,
        state_in(PYTORCHJOB),
        about="all PyTorchJobs",
        members="the Master first, then the workers by replica index",
        makes=("podgroup/{name}",),
        suspend=SUSPEND,
        handed=SUBMITTED,
    ),
)
