"""Labelled pods: all pods of a namespace whose label ``muster.dev/observe`` has one value are one run.

There is no object. The daemon makes one of the pods: its name is the label's value, its annotations are those of the
pods, and ``spec.size`` is one more than the highest index that a pod has, or the number of pods. A pod's index is the
annotation or label ``muster.dev/rank``, else the one that its controller gave it, else the number its name ends in.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from muster.api.values.printable import small_number, word
from muster.api.values.timestamps import seconds_of
from muster.kinds.declaration.watched_kind import (
    OwnState,
    Place,
    PodFacts,
    PodSource,
    Said,
    Sample,
    WatchedKind,
    by_index,
    own_name,
)
from muster.kinds.planning.watched_plan import MOST, Framework, annotations_of, framework_of, metadata_of, watched_plan
from muster.kinds.planning.watched_plan import whole as whole_number
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod_spec import PodSpec
from muster.state.vocabulary.subject import PODS

OBSERVE: Final = "muster.dev/observe"
"""Label of pods, and of Jobs: watch over this run. Its value names a set of pods."""
SIZE: Final = "muster.dev/size"
RANK: Final = "muster.dev/rank"
GROUP: Final = "worker"

INDICES: Final = (
    RANK,
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/job-completion-index",
    "training.kubeflow.org/replica-index",
)
"""Labels, or annotations, that hold a pod's index."""
_ORDINAL: Final = re.compile(r"-(0|[1-9][0-9]{0,5})\Z")
_RANDOM: Final = ("ReplicaSet", "Job")
"""Kinds whose pods have names that end in random characters."""


def place_of(pod: PodFacts) -> Place | None:
    """The place of a labelled pod."""
    name = pod.labels.get(OBSERVE)
    return Place(f"pods/{word(name)}", GROUP, 0, _index(pod)) if name else None


def _index(pod: PodFacts) -> int:
    for key in INDICES:
        text = pod.annotations.get(key) or pod.labels.get(key)
        if text:
            found = small_number(text)
            return found if 0 <= found < MOST else -1
    ordinal = _ORDINAL.search(pod.name) if pod.kind not in _RANDOM else None
    return int(ordinal[1]) if ordinal and int(ordinal[1]) < MOST else -1


def plan_of(obj: Mapping[str, Any]) -> Plan:
    """The plan of a set of pods. Raises ``PlanError``."""
    stated = annotations_of(obj).get(SIZE)
    size = whole_number(SIZE, stated, 1, MOST) if stated is not None else int(obj["spec"]["size"])
    group = Group(GROUP, 1, size, PodSpec(), 0)
    framework = framework_of(obj, Framework())
    return watched_plan(obj, PODS, (group,), framework=framework)


def own_state(obj: Mapping[str, Any]) -> OwnState:
    """Pods have no state in common: each is asked."""
    at = seconds_of(str(metadata_of(obj).get("creationTimestamp") or ""))
    return OwnState(Said.ASK_PODS, started_at=at or None)


SOURCE: Final = PodSource("pods", OBSERVE, place_of)
LABELLED_PODS: Final = WatchedKind(
    PODS,
    (SOURCE,),
    plan_of,
    own_state,
    own_name(PODS),
    level=3,
    about="all pods of a namespace with one value of the label `muster.dev/observe`",
    members="by the annotation or label `muster.dev/rank`, else the index that their controller gave them, else the "
    "number their name ends in",
    sample=Sample(lambda _: {}, by_index(RANK, **{OBSERVE: "train"}), annotations={SIZE: "3"}),
)
DECLARED: Final = (LABELLED_PODS,)
