"""batch/v1 Jobs with the label ``muster.dev/observe``, on the Job or on its pod template.

The pods of an Indexed Job have an index. Those of another one take the places in the order in which they come, and a
new pod takes that of one that has failed. A Job does not count lives: a pod that is replaced begins no epoch.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import msgspec

from muster.api.values.printable import small_number, word
from muster.kinds.declaration import Place, PlanError, PodFacts, PodSource, WatchedKind, part_of
from muster.kinds.planning.watched_plan import (
    MOST,
    Framework,
    annotations_of,
    framework_of,
    read,
    state_by_conditions,
    watched_plan,
    whole,
)
from muster.kinds.pods import OBSERVE, SIZE
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import PodSpec
from muster.state.vocabulary.subject import Subject

JOB: Final = Subject("batch/v1", "Job", "jobs")
LABEL: Final = "batch.kubernetes.io/controller-uid"
NAME: Final = "batch.kubernetes.io/job-name"
INDEX: Final = "batch.kubernetes.io/job-completion-index"
GROUP: Final = "worker"


class _Metadata(msgspec.Struct, frozen=True):
    labels: dict[str, Any] | None = None


class _Template(msgspec.Struct, frozen=True):
    metadata: _Metadata | None = None


class JobShape(msgspec.Struct, frozen=True):
    """The part of a Job's spec that defines which pods are expected (batch/v1 JobSpec)."""

    parallelism: int | None = None
    completions: int | None = None
    suspend: bool | None = None
    template: _Template | None = None

    @property
    def pods(self) -> int:
        """Return the number of pods that end with success."""
        return self.at_a_time if self.completions is None else max(0, self.completions)

    @property
    def at_a_time(self) -> int:
        """Return the number of pods that run together."""
        return 1 if self.parallelism is None else max(0, self.parallelism)


def place_of(pod: PodFacts) -> Place | None:
    """Return the place of a Job's pod."""
    name = pod.labels.get(NAME)
    if not name or pod.kind != JOB.kind:
        return None
    index = small_number(pod.labels.get(INDEX) or pod.annotations.get(INDEX)) if _indexed(pod) else -1
    return Place(f"job/{word(name)}", GROUP, 0, index, uid=word(pod.labels[LABEL]))


def _indexed(pod: PodFacts) -> bool:
    return INDEX in pod.labels or INDEX in pod.annotations


def wanted(obj: Mapping[str, Any]) -> bool:
    """Return True if the Job or its pods bear the label."""
    if OBSERVE in part_of(obj, "metadata", "labels"):
        return True
    try:
        template = read(obj, JobShape).template
    except PlanError:
        return False
    return bool(template and template.metadata and OBSERVE in (template.metadata.labels or {}))


def plan_of(obj: Mapping[str, Any]) -> Plan:
    """Return the plan of a Job. Raises ``PlanError``."""
    spec = read(obj, JobShape)
    stated = annotations_of(obj).get(SIZE)
    size = spec.pods if stated is None else whole(SIZE, stated, 1, MOST)
    group = Group(GROUP, 1, size, PodSpec(), 0, parallelism=min(spec.at_a_time, size))
    return watched_plan(obj, JOB, (group,), framework=framework_of(obj, Framework()), suspend=bool(spec.suspend))


SOURCE: Final = PodSource("jobs", LABEL, place_of)
DECLARED: Final = (
    WatchedKind(
        JOB,
        (SOURCE,),
        plan_of,
        partial(state_by_conditions, "Complete"),
        level=2,
        about="Jobs with the label `muster.dev/observe`, on the Job or its pod template",
        members="by completion index; without one, in the order in which they come",
        wanted=wanted,
        suspend={"spec": {"suspend": True}},
    ),
)
