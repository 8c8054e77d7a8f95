"""Pods that must go are asked to go, and are gone, in time.

A pod must go once the spec has ``suspend`` or ``cancel``, or a persisted status shows that its epoch is over or that
its experiment has ended. From then on it has to be deleted within a second, and to be gone within its grace period,
except for what faults and lost nodes explain. A program that ends by itself meanwhile needs no deletion: its pod may
stay for its log.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from tests.fakes.history import Change, Object
from tests.scenarios.incidents import Unkillable
from tests.simulation.oracles.invariants import OVER
from tests.simulation.oracles.repairs import attempts_of
from tests.simulation.plans.masks import PROMPT
from tests.simulation.world.process import forged
from tests.simulation.world.world import World

MARGIN = 5.0
"""Seconds from the end of the grace period until the pod's object must be gone or ended."""
GRACE = 30
"""Kubernetes' default of terminationGracePeriodSeconds."""


@dataclass(slots=True)
class Departure:
    """The times of one pod, in wall-clock seconds."""

    name: str
    uid: str
    owner: str
    epoch: int
    rank: int
    attempt: int
    grace: int
    due: float = inf
    """When the spec or a persisted status first showed that it must go."""
    asked: float = inf
    """When its deletion was requested, by anybody."""
    ended: float = inf
    """When its program had ended or its object was gone."""


def departures(world: World) -> list[Departure]:
    """All pods that there ever were."""
    pods: dict[str, Departure] = {}
    experiments: dict[str, Object] = {}
    for change in world.changes:
        if change.resource == "experiments":
            uid = change.after["metadata"]["uid"]
            experiments[uid] = change.after
            for pod in pods.values():
                if pod.owner == uid:
                    _judge(pod, change.after, change.at)
        elif change.resource == "pods" and not forged(change.after):
            uid = change.after["metadata"]["uid"]
            if uid not in pods:
                pods[uid] = _departure(world, change)
            pod = pods[uid]
            _follow(pod, change)
            _judge(pod, experiments.get(pod.owner, {}), change.at)
    return list(pods.values())


def lingering(world: World) -> Iterator[str]:
    """The pods that were not asked to go, or were not gone, in time."""
    faults = world.plan.seconds
    for pod in departures(world):
        asked_by = pod.due + PROMPT + faults
        if min(pod.asked, pod.ended) > asked_by:
            yield f"{pod.name} is not asked to go within {asked_by - pod.due:g} s"
            continue
        gone_by = asked_by + pod.grace + MARGIN
        process = world.kubelet.processes[pod.uid]
        if pod.ended > gone_by and not process.node_lost and not world.incidents_of(process, Unkillable):
            yield f"{pod.name} is not gone within {gone_by - pod.due:g} s"


def _departure(world: World, change: Change) -> Departure:
    uid = change.after["metadata"]["uid"]
    process = world.kubelet.processes[uid]
    grace = change.after["spec"].get("terminationGracePeriodSeconds", GRACE)
    return Departure(process.name, uid, process.experiment, process.epoch, process.rank, process.attempt, grace)


def _follow(pod: Departure, change: Change) -> None:
    gone = change.kind == "DELETED"
    stopped = change.after["spec"].get("activeDeadlineSeconds")
    if gone or stopped or change.after["metadata"].get("deletionTimestamp"):
        pod.asked = min(pod.asked, change.at)
    if gone or change.after.get("status", {}).get("phase") in OVER:
        pod.ended = min(pod.ended, change.at)


def _judge(pod: Departure, experiment: Object, at: float) -> None:
    spec, status = experiment.get("spec", {}), experiment.get("status") or {}
    leaving = experiment.get("metadata", {}).get("deletionTimestamp")
    unwanted = spec.get("suspend") or spec.get("cancel") or leaving
    older = pod.epoch == status.get("epoch") and pod.attempt < attempts_of(status).get(pod.rank, 0)
    if unwanted or older or pod.epoch < status.get("epoch", 0) or status.get("phase") in OVER:
        pod.due = min(pod.due, at)
