"""TFJobs of Kubeflow's training operator (kubeflow.org/v1), outside of the tree: a kind that is watched over."""

from collections.abc import Mapping
from typing import Any, Final

from muster.kinds.declaration import PodSource, WatchedKind
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
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.subject import Subject

TFJOB: Final = Subject(API_VERSION, "TFJob", "tfjobs")
FIELD: Final = "tfReplicaSpecs"
TYPES: Final = ("chief", "worker", "ps", "evaluator")


def _plan_of(obj: Mapping[str, Any]) -> Plan:
    return job_plan(obj, TFJOB, groups_of(FIELD, replicas_of(obj, FIELD, TYPES)), Framework())


DECLARED: Final = (
    WatchedKind(
        TFJOB,
        (PodSource("tfjobs", LABEL, place_in(TFJOB, frozenset(TYPES))),),
        _plan_of,
        state_in(TFJOB),
        about="all TFJobs",
        members="by type and replica index",
        suspend=SUSPEND,
    ),
)
