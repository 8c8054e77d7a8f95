"""TFJobs of Kubeflow's training operator (kubeflow.org/v1), outside of the tree: a kind that is watched over."""

from collections.abc import Mapping
from typing import Any, Final

from muster.kinds.declaration.watched_kind import PodSource, WatchedKind, own_name
from muster.kinds.kubeflow.watched import (
    API_VERSION,
    LABEL,
    SUSPEND,
    groups_of,
    place_in,
    replicas_of,
    state_in,
    suspended,
)
from muster.kinds.planning.watched_plan import Framework, framework_of, watched_plan
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.subject import Names, Subject

TFJOB: Final = Subject(API_VERSION, "TFJob", "tfjobs")
FIELD: Final = "tfReplicaSpecs"
TYPES: Final = ("chief", "worker", "ps", "evaluator")


def _plan_of(obj: Mapping[str, Any]) -> Plan:
    return watched_plan(
        obj,
        TFJOB,
        groups_of(FIELD, replicas_of(obj, FIELD, TYPES)),
        framework=framework_of(obj, Framework()),
        names=Names.KUBEFLOW,
        suspend=suspended(obj),
    )


DECLARED: Final = (
    WatchedKind(
        TFJOB,
        (PodSource("tfjobs", LABEL, place_in(TFJOB, frozenset(TYPES))),),
        _plan_of,
        state_in(TFJOB),
        own_name(TFJOB),
        level=1,
        about="all TFJobs",
        members="by type and replica index",
        suspend=SUSPEND,
    ),
)
