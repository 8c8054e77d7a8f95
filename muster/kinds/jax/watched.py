"""JAXJobs that Kubeflow's training operator runs (kubeflow.org/v1, v1.9.4: pkg/controller.v1/jax)."""

from collections.abc import Mapping
from typing import Any, Final

from muster.kinds.declaration import SUBMITTED, PlanError, PodSource, WatchedKind
from muster.kinds.jax.jaxjob import CONTAINER, PORT, PORT_NAME, WORKER
from muster.kinds.kubeflow.watched import (
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
from muster.state.vocabulary.subject import JAXJOB

FIELD: Final = "jaxReplicaSpecs"
GROUP: Final = "worker"
place_of: Final = place_in(JAXJOB, frozenset((GROUP,)))
own_state: Final = state_in(JAXJOB)


def plan_of(obj: Mapping[str, Any]) -> Plan:
    """Return the plan of a JAXJob. Raises ``PlanError``."""
    replicas = replicas_of(obj, FIELD, (GROUP,))
    if not replicas:
        raise PlanError(f"spec.{FIELD}: no {WORKER}")
    default = Framework("jax", ProbeKind.JAX, replicas[GROUP].port(CONTAINER, PORT_NAME, PORT))
    return job_plan(obj, JAXJOB, groups_of(FIELD, replicas), default)


DECLARED: Final = (
    WatchedKind(
        JAXJOB,
        (PodSource("jaxjobs", LABEL, place_of),),
        plan_of,
        own_state,
        about="all JAXJobs that Muster does not run",
        members="by replica index",
        makes=("podgroup/{name}",),
        suspend=SUSPEND,
        handed=SUBMITTED,
    ),
)
