"""LeaderWorkerSets that their own controller runs (leaderworkerset.x-k8s.io/v1, kubernetes-sigs/lws v0.7).

It makes ``spec.replicas`` groups of ``leaderWorkerTemplate.size`` pods: ``llm-1`` is the leader of group 1, and
``llm-1-2`` the worker 2 of that group. Labels of the pods hold the index of the group, and that within it, which is 0
for the leader. Each group is a gang of its own, with its own leader, and is recreated by itself. A group is a job of
the plan, and a pod of it a member.

The object never ends by itself, and has no field that suspends it. A rolling update may make more groups than the
object states; they take no place. Facts: lws api/leaderworkerset/v1 and pkg/webhooks/pod_webhook.go.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from muster.api.values.printable import small_number, word
from muster.kinds.declaration import Place, PlanError, PodFacts, PodSource, WatchedKind
from muster.kinds.planning.watched_plan import MOST, Framework, framework_of, read, started_of, watched_plan
from muster.kinds.pods import LWS
from muster.state.view.own import OwnState
from muster.state.vocabulary.group import Group, ProbeKind
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import PodSpec
from muster.state.vocabulary.subject import Subject

LEADERWORKERSET: Final = Subject("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "leaderworkersets")
LABEL: Final = f"{LWS}name"
GROUP_INDEX: Final = f"{LWS}group-index"
INDEX: Final = f"{LWS}worker-index"
GROUP: Final = "group"
OWN_LEADERS: Final = (
    "each of the {} groups meets at its own leader, so no coordinator is asked, and a member has arrived when its pod "
    "is ready"
)


class _Template(msgspec.Struct, frozen=True):
    size: int | None = None


class _Shape(msgspec.Struct, frozen=True):
    """The part of the spec that defines which pods are expected."""

    replicas: int | None = None
    leaderWorkerTemplate: _Template = _Template()  # noqa: N815 - the wire's names
    startupPolicy: str | None = None  # noqa: N815


def place_of(pod: PodFacts) -> Place | None:
    """Return the place of a pod of a LeaderWorkerSet, whose StatefulSets make its pods."""
    name = pod.labels.get(LABEL)
    if not name or not pod.labels.get(GROUP_INDEX) or pod.kind != "StatefulSet":
        return None
    group, index = small_number(pod.labels.get(GROUP_INDEX)), small_number(pod.labels.get(INDEX))
    return Place(f"leaderworkerset/{word(name)}", GROUP, group, index)


def plan_of(obj: Mapping[str, Any]) -> Plan:
    """Return the plan of a LeaderWorkerSet. Raises ``PlanError``."""
    spec = read(obj, _Shape)
    replicas = 1 if spec.replicas is None else max(0, spec.replicas)
    size = 1 if spec.leaderWorkerTemplate.size is None else max(1, spec.leaderWorkerTemplate.size)
    if max(replicas, size) > MOST:
        raise PlanError(f"spec: it asks for more than {MOST} groups, or pods of a group")
    asked = framework_of(obj, Framework())
    apart = replicas > 1 and not asked.probe.stated and asked.probe is not ProbeKind.NONE
    group = Group(
        GROUP, replicas, size, PodSpec(), 0, named=replicas > 1, leader_first=spec.startupPolicy == "LeaderReady"
    )
    return watched_plan(
        obj,
        LEADERWORKERSET,
        (group,),
        framework=replace(asked, probe=ProbeKind.NONE, port=0) if apart else asked,
        notice=OWN_LEADERS.format(replicas) if apart else "",
    )


def own_state(obj: Mapping[str, Any]) -> OwnState:
    """Return only the start: the object never ends, and its conditions count ready groups: the pods show more."""
    return OwnState(started_at=started_of(obj))


DECLARED: Final = (
    WatchedKind(
        LEADERWORKERSET,
        (PodSource("leaderworkersets", LABEL, place_of),),
        plan_of,
        own_state,
        about="all LeaderWorkerSets",
        members="by group and worker index; the leader of a group comes first",
        makes=("statefulset/{name}", "statefulset/{name}-{job}", "podgroup/{name}-{job}"),
    ),
)
