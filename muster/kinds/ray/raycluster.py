"""RayClusters that KubeRay runs: their plan, and the state that their controller reports.

Fields: KubeRay feeaf72, ray-operator/apis/ray/v1 (raycluster_types.go, rayjob_types.go). The API server has checked
them by KubeRay's schema; fields that are not read here are skipped.

- The members are the head and the pods of each worker group: ``replicas`` within ``minReplicas`` and ``maxReplicas``,
  times ``numOfHosts``. With an autoscaler ``replicas`` is its latest wish, which it writes into the object.
- A pod's place is (group, replica index, host index), by its labels. A replacement takes the free index over, so the
  place is the member and the pod's name is its life. Pods without an index take any free place of their group.
- ``status.state`` is not read: it stays ``ready`` with the head gone and while it suspends, and ``suspended`` while it
  resumes. Nor are counts of replicas: they are sums over all groups, of pods and not of members of the Ray cluster.

RayClusters of a RayJob are part of it (``kinds.ray.watched``). Traps: tests/watched_runs/kuberay.
"""
# ruff: noqa: N815 - field names are those of the wire

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from muster.api.names import RAY_PORT
from muster.api.values.printable import clean, small_number, word
from muster.kinds.declaration import SUBMITTED, Place, PodFacts, PodSource, WatchedKind, list_of, part_of
from muster.kinds.planning.watched_plan import MAX_MESSAGE, Framework, condition_of, read, started_of, watched_plan
from muster.kinds.ray.operator import coordinator_at
from muster.kinds.ray.start import Ports
from muster.state.view.own import OwnState, OwnVerdict
from muster.state.vocabulary.group import Coordinator, Group, ProbeKind, Role
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import PodSpec
from muster.state.vocabulary.subject import Subject, title

GROUP_VERSION: Final = "ray.io/v1"
CLUSTER_LABEL: Final = "ray.io/cluster"
REPLICA_LABEL: Final = "ray.io/worker-group-replica-index"
HEAD_GROUP: Final = "headgroup"

RAYCLUSTER: Final = Subject(GROUP_VERSION, "RayCluster", "rayclusters")
FRAMEWORK: Final = Framework("kuberay", ProbeKind.RAY, RAY_PORT)


class RayGroup(msgspec.Struct, frozen=True):
    """headGroupSpec, or one of workerGroupSpecs."""

    groupName: str = HEAD_GROUP
    replicas: int | None = None
    minReplicas: int | None = None
    maxReplicas: int | None = None
    numOfHosts: int | None = None
    suspend: bool | None = None
    rayStartParams: dict[str, str] | None = None
    template: dict[str, Any] | None = None

    @property
    def wanted_replicas(self) -> int:
        """Return the number of replicas that KubeRay makes now (utils.go, GetWorkerGroupDesiredReplicas)."""
        if self.suspend:
            return 0
        least, most = self.minReplicas or 0, self.maxReplicas
        wanted = max(least, self.replicas if self.replicas is not None else least)
        return max(0, wanted if most is None else min(wanted, most))

    @property
    def hosts(self) -> int:
        """Return pods of one replica."""
        return max(1, self.numOfHosts or 1)


class AuthOptions(msgspec.Struct, frozen=True):
    """Options for Ray's check of its clients."""

    mode: str | None = None


class RayClusterSpec(msgspec.Struct, frozen=True):
    """RayClusterSpec v1."""

    headGroupSpec: RayGroup = RayGroup()
    workerGroupSpecs: list[RayGroup] | None = None
    enableInTreeAutoscaling: bool | None = None
    suspend: bool | None = None
    authOptions: AuthOptions | None = None


def place_of(pod: PodFacts) -> Place | None:
    """Return the place of a pod with the label of a RayCluster."""
    labels = pod.labels
    cluster, group = labels.get(CLUSTER_LABEL), labels.get("ray.io/group")
    if not cluster or not group:
        return None
    owner, uid = title(RAYCLUSTER.kind, word(cluster)), pod.owner_uid if pod.kind == RAYCLUSTER.kind else ""
    if group == HEAD_GROUP:
        return Place(owner, HEAD_GROUP, 0, 0, uid=uid)
    replica = small_number(labels[REPLICA_LABEL]) if labels.get(REPLICA_LABEL) else -1
    host = labels.get("ray.io/replica-host-index")
    if not host:
        return Place(owner, word(group), 0, replica, uid=uid)
    return Place(owner, word(group), max(replica, 0), small_number(host), uid=uid)


def plan_of(obj: Mapping[str, Any]) -> Plan:
    """Return the plan of a RayCluster. Raises ``PlanError``."""
    spec = read(obj, RayClusterSpec)
    return watched_plan(
        obj,
        RAYCLUSTER,
        groups_of(spec),
        framework=FRAMEWORK,
        coordinator=coordinator_of(spec),
        suspend=bool(spec.suspend),
        notice=autoscaled(spec),
    )


def own_state(obj: Mapping[str, Any]) -> OwnState:
    """Return the state that the conditions of a RayCluster show. A RayCluster never ends by itself."""
    at = started_of(obj)
    if part_of(obj, "spec").get("suspend") is True:
        return OwnState(OwnVerdict.SUSPENDED, "Suspended", "suspended by spec.suspend of the RayCluster", started_at=at)
    failure = condition_of(obj, "ReplicaFailure") or condition_of(obj, "RayClusterReplicaFailure")
    if failure is None:
        return OwnState(started_at=at)
    why = clean(failure.get("message", ""), MAX_MESSAGE)
    return OwnState(reason=word(failure.get("reason") or "ReplicaFailure"), message=why, started_at=at)


def groups_of(spec: RayClusterSpec) -> Iterator[Group]:
    """Yield the groups of a cluster: the head, then the workers in their order."""
    yield Group(HEAD_GROUP, 1, 1, PodSpec(), 0, role=Role.HEAD)
    for asked in spec.workerGroupSpecs or ():
        replicas, hosts = asked.wanted_replicas, asked.hosts
        if replicas:
            jobs, pods = (replicas, hosts) if hosts > 1 else (1, replicas)
            yield Group(word(asked.groupName), jobs, pods, PodSpec(), 0, sparse=hosts > 1)


def coordinator_of(spec: RayClusterSpec) -> Coordinator:
    """Return the head, at the ports that it is started with."""
    head = spec.headGroupSpec
    params = head.rayStartParams or {}
    dumb = params.get("include-dashboard", "").strip("'\"").lower() == "false"
    return coordinator_at(Ports.of(params), dashboard=not dumb, token=_token(spec, head))


def autoscaled(spec: RayClusterSpec) -> str:
    """Return the expected replicas if an autoscaler decides them; empty if none does."""
    if not spec.enableInTreeAutoscaling:
        return ""
    groups = (
        f"{word(each.groupName)} {each.wanted_replicas} ({each.minReplicas or 0} to {each.maxReplicas or 'any'})"
        for each in spec.workerGroupSpecs or ()
    )
    return f"the autoscaler wants these replicas now: {', '.join(groups)}"


def _token(spec: RayClusterSpec, head: RayGroup) -> str:
    """Return the token, if the head's template holds it. KubeRay keeps it in a Secret, which Muster does not read."""
    main = next(iter(list_of(head.template, "spec", "containers")), None)
    env = {str(each.get("name")): str(each.get("value") or "") for each in map(part_of, list_of(main, "env"))}
    asked = env.get("RAY_AUTH_MODE") == "token" or (spec.authOptions is not None and spec.authOptions.mode == "token")
    return env.get("RAY_AUTH_TOKEN", "") if asked else ""


PODS: Final = PodSource("rayclusters", CLUSTER_LABEL, place_of)


RAYCLUSTERS: Final = WatchedKind(
    RAYCLUSTER,
    (PODS,),
    plan_of,
    own_state,
    about="all RayClusters",
    members="by group and replica index",
    makes=("podgroup/ray-{name}-pg",),
    suspend={"spec": {"suspend": True}},
    handed=SUBMITTED,
)
