"""Labelled pods: all pods of a namespace whose label ``muster.dev/observe`` has one value are one run.

Such a run has no object. The daemon makes one of the pods: its name is the label's value, its annotations are those of
the pods, and ``spec.sizes`` has, by group, one more than the highest index that a pod has, or the number of pods. A
pod's index is the annotation or label ``muster.dev/rank``, else the one that its controller gave it, else the number
its name ends in.

Controllers of groups number the pods of each group from 0. So the pods of a LeaderWorkerSet are one group for each of
its group indices, and those of a Volcano Job one for each task. If two pods at work still have one index, the second
takes another place, and the message reports that.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from muster.api.values.printable import small_number, word
from muster.kinds.declaration import Place, PodFacts, PodSource, WatchedKind
from muster.kinds.planning.watched_plan import MOST, Framework, annotations_of, framework_of, started_of, watched_plan
from muster.kinds.planning.watched_plan import whole as whole_number
from muster.state.view.own import OwnState, OwnVerdict
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod, PodSpec
from muster.state.vocabulary.subject import PODS

OBSERVE: Final = "muster.dev/observe"
"""Label of pods, and of Jobs: watch over this run. Its value names a set of pods."""
LWS: Final = "leaderworkerset.sigs.k8s.io/"
VOLCANO: Final = "volcano.sh/"
SIZE: Final = "muster.dev/size"
RANK: Final = "muster.dev/rank"
GROUP: Final = "worker"
SHARED: Final = f"two pods have one index, so ranks do not follow it; give each pod the annotation {RANK}"

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
    """Return the place of a labelled pod."""
    name = pod.labels.get(OBSERVE)
    return Place(f"pods/{word(name)}", *within(pod)) if name else None


def within(pod: PodFacts) -> tuple[str, int, int]:
    """Return group, job and index. A stated rank is one of the whole set."""
    labels = pod.labels
    if RANK not in pod.annotations and RANK not in labels:
        group, index = labels.get(f"{LWS}group-index"), small_number(labels.get(f"{LWS}worker-index"))
        if group and 0 <= small_number(group) < MOST and 0 <= index < MOST:
            return f"group-{small_number(group)}", 0, index
        task, index = labels.get(f"{VOLCANO}task-spec"), small_number(labels.get(f"{VOLCANO}task-index"))
        if task and 0 <= index < MOST:
            return word(task), 0, index
    return GROUP, 0, _index(pod)


def _index(pod: PodFacts) -> int:
    for key in INDICES:
        text = pod.annotations.get(key) or pod.labels.get(key)
        if text:
            found = small_number(text)
            return found if 0 <= found < MOST else -1
    ordinal = _ORDINAL.search(pod.name) if pod.kind not in _RANDOM else None
    return int(ordinal[1]) if ordinal and int(ordinal[1]) < MOST else -1


def counts(pod: Pod) -> bool:
    """Return True if the pod is to be in the set: no pod that leaves, or that has failed and may be replaced."""
    return not pod.terminating and not (pod.failed and pod.index >= 0)


def plan_of(obj: Mapping[str, Any]) -> Plan:
    """Return the plan of a set of pods. Raises ``PlanError``."""
    stated, sizes = annotations_of(obj).get(SIZE), dict(obj["spec"]["sizes"])
    if stated is not None and len(sizes) == 1:
        sizes = dict.fromkeys(sizes, whole_number(SIZE, stated, 1, MOST))
    notice = SHARED if obj["spec"].get("shared") else ""
    groups = (Group(name, 1, sizes[name], PodSpec(), 0) for name in sorted(sizes, key=_natural))
    return watched_plan(obj, PODS, groups, framework=framework_of(obj, Framework()), notice=notice)


def _natural(name: str) -> tuple[str, int, str]:
    """Return a key that sorts ``group-2`` before ``group-10``."""
    number = _ORDINAL.search(name)
    return (name[: number.start()], int(number[1]), name) if number else (name, -1, name)


def own_state(obj: Mapping[str, Any]) -> OwnState:
    """Return an empty state: pods have none in common, and each is asked."""
    return OwnState(OwnVerdict.ASK_PODS, started_at=started_of(obj))


SOURCE: Final = PodSource("pods", OBSERVE, place_of)
LABELLED_PODS: Final = WatchedKind(
    PODS,
    (SOURCE,),
    plan_of,
    own_state,
    level=3,
    about="all pods of a namespace with one value of the label `muster.dev/observe`",
    members="by group of a LeaderWorkerSet or task of a Volcano Job, and by the annotation or label `muster.dev/rank`, "
    "else the index that their controller gave them, else the number their name ends in",
)
DECLARED: Final = (LABELLED_PODS,)
