"""What happens in the cluster that the dashboards are tried on: one row for each experiment.

A dashboard for another framework adds its situations here. Together they must give every query of every dashboard data.
"""

import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from muster.api.names import LABEL_EPOCH, QUEUE_LABEL
from muster.client import Client, Snapshot
from muster.kinds.pods import OBSERVE, SIZE
from muster.kube.resources import core
from tests.deploy.grafana.proxy import Refusal

Holds = Callable[[Snapshot], bool]
Deed = Callable[[Client, Snapshot], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Situation:
    """One experiment. ``deed`` is done once ``ready`` holds; the situation has come when ``holds`` does."""

    name: str
    namespace: str
    operator: str
    command: str
    members: int
    holds: Holds
    more: str = ""
    """Lines of the spec, in YAML."""
    queue: str = ""
    """The LocalQueue of its label."""
    late: bool = False
    """Whether it passes by itself, and so is begun once all others have come."""
    ready: Holds | None = None
    deed: Deed | None = None
    values: Mapping[tuple[int, str], float] = field(default_factory=dict)
    """What the dashboard of one experiment shows then: the last value by panel and name of the series."""

    @property
    def manifest(self) -> str:
        resources = "resources: {cpus: 0.01, memory: 0.5}"
        types = {
            "jax": f"worker: {{count: {self.members}, {resources}}}",
            "jobset": f"task: {{count: 1, completions: {self.members}, parallelisms: {self.members}, {resources}}}",
            "kuberay": f"{{Head: {{{resources}}}, Workers: [{{name: node, count: {self.members}, {resources}}}]}}",
        }[self.operator]
        labels = f"{{team: {self.namespace}{f', {QUEUE_LABEL}: {self.queue}' if self.queue else ''}}}"
        return f"""
apiVersion: muster.dev/v1alpha1
kind: Experiment
metadata: {{name: {self.name}, namespace: {self.namespace}, labels: {labels}}}
spec:
  operator: {self.operator}
  image: none
  command: "{self.command}"
  timeout: 2h
  clocks: {{assembly: {{after: 30m, action: Alert}}}}
  types:
    {types}
{self.more}
"""


def _running(seen: Snapshot) -> bool:
    return seen.phase == "Running"


def _stuck(reason: str) -> Holds:
    return lambda seen: seen.holds("Stuck") and seen.reason == reason


def _ended(reason: str) -> Holds:
    return lambda seen: seen.finished and seen.reason == reason


def _runs_again(seen: Snapshot) -> bool:
    return seen.phase == "Running" and seen.status.epoch == 1


async def freeze_the_coordinator(client: Client, seen: Snapshot) -> None:
    """Stop the process of rank 0: its port accepts connections and never answers."""
    members = await client.members(seen.name, namespace=seen.namespace)
    process = next(member.process for member in members if member.rank == 0)
    assert process is not None
    os.kill(process, signal.SIGSTOP)


async def delete_a_pod(client: Client, seen: Snapshot) -> None:
    """Delete the pod of rank 1, as a person or a node drain does."""
    members = await client.members(seen.name, namespace=seen.namespace)
    pod = next(member.pod for member in members if member.rank == 1)
    await client.resources.delete(core(seen.namespace, "pods", pod))


RAY_RESTARTED = "ray-restarted"
RAY: Mapping[str, Mapping[str, str]] = {
    "ray-missing": {"FAKE_RAY_ABSENT": "2"},
    "ray-frozen": {},
    RAY_RESTARTED: {"FAKE_RAY_WORKER_DIES": RAY_RESTARTED},
}
"""What the stand-in for Ray is to do in these, as variables; a file is named by its last part."""

RAY_NAMESPACE = OBSERVED_NAMESPACE = "graphs"
WATCHED = "observed"
"""The label of two pods that no Experiment made, of three that there are to be."""

_GANG = "python3 -u tests/deploy/grafana/gang.py"
_EPOCHS = tuple(f'"{LABEL_EPOCH}":"{epoch}"' for epoch in (0, 1))
_RESTARTS = "  restartPolicy: {backoffLimit: 3, backoff: {initial: 2s}}"


def _jax(name: str, command: str, members: int, holds: Holds, namespace: str = "vision", **more: Any) -> Situation:
    return Situation(name, namespace, "jax", command, members, holds, **more)


def _jobset(name: str, command: str, holds: Holds, **more: Any) -> Situation:
    return Situation(name, "speech", "jobset", command, 2, holds, **more)


def _ray(name: str, members: int, holds: Holds, **more: Any) -> Situation:
    return Situation(name, RAY_NAMESPACE, "kuberay", "true", members, holds, **more)


SITUATIONS = (
    _jax("healthy", f"{_GANG} --steps", 2, _running, values={(4, ""): 0, (6, ""): 0, (20, "arrived"): 2}),
    _jax("rank-missing", f"{_GANG} --absent 1", 3, _stuck("RanksMissing"),
         values={(2, "RanksMissing"): 1, (4, ""): 1, (20, "arrived"): 2, (21, "NotArrived"): 1}),
    _jax("restarted", f"{_GANG} --dies 1 --steps", 2, _runs_again, more=_RESTARTS,
         values={(6, ""): 1, (30, "failures"): 1, (30, "disruptions"): 0, (34, "Error"): 1, (31, "epoch"): 1}),
    _jax("frozen", _GANG, 2, _stuck("CoordinatorUnreachable"), "speech",
         late=True,  # after some minutes the other rank gives the coordinator up, and the gang restarts
         ready=_running, deed=freeze_the_coordinator, values={(2, "CoordinatorUnreachable"): 1}),
    _jobset("disrupted", "sleep 3600", _runs_again, more=_RESTARTS, ready=_running, deed=delete_a_pod,
            values={(6, ""): 1, (30, "failures"): 0, (30, "disruptions"): 1}),
    *(
        _jobset(name, "sleep 3600", _stuck("QuotaExceeded"), values={(2, "QuotaExceeded"): 1, (21, "Refused"): 2})
        for name in ("refused", "refused-2", "refused-3")  # three runs are an incident
    ),
    _jobset("queued", "sleep 3600", lambda seen: seen.phase == "Queued", queue="gpus", values={(1, "Queued"): 1}),
    _ray("ray-missing", 2, _stuck("RanksMissing"), values={(2, "RanksMissing"): 1, (20, "arrived"): 2}),
    _ray(RAY_RESTARTED, 1, lambda seen: _runs_again(seen) and bool(seen.status.attempts), more=_RESTARTS,
         values={(6, ""): 1, (31, "epoch"): 1}),
    _ray("ray-frozen", 1, _stuck("CoordinatorUnreachable"), late=True, ready=_running, deed=freeze_the_coordinator,
         values={(2, "CoordinatorUnreachable"): 1}),
    _jobset("finished", "sleep 2", _ended("AllMembersSucceeded"), values={(1, "Succeeded"): 1}),
    _jobset("failed", "sleep 1; exit 3", _ended("BackoffLimitExceeded"), values={(1, "Failed"): 1}),
    _jobset("fails-again", "sleep 1; exit 3", _ended("SameFailureAgain"), values={(1, "Failed"): 1},
            more=f"{_RESTARTS[:-1]}, sameFailureAction: Fail}}"),
)  # fmt: skip


def refusals() -> list[Refusal]:
    """What the API server refuses meanwhile: the pods of three experiments, and Events for want of a right.

    The first create of a pod of the first two epochs is asked to wait: the first opens a series, the second is an
    increase.
    """
    quota = "exceeded quota: speech, requested: pods=1, used: pods=10, limited: pods=10"
    right = 'events is forbidden: User "system:serviceaccount:muster-system:musterd" cannot create resource "events"'
    return [
        Refusal("POST", "/pods", '"refused-', 403, "Forbidden", quota),
        Refusal("POST", "/events", "", 403, "Forbidden", right),
        *(Refusal("POST", "/pods", words, 429, "TooManyRequests", "too many requests", times=1) for words in _EPOCHS),
    ]


def labelled_pods() -> list[Mapping[str, object]]:
    """Pods that another controller might have made: Muster watches over them, and finds that one is missing.

    They hold accelerators, which the node does not have: a pod that names its node asks no scheduler.
    """
    devices = {"limits": {"nvidia.com/gpu": "4"}}
    container = {"name": "main", "image": "none", "command": ["sleep", "3600"], "resources": devices}
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{WATCHED}-{rank}", "labels": {OBSERVE: WATCHED}, "annotations": {SIZE: "3"}},
            "spec": {"containers": [container], "restartPolicy": "Never", "nodeName": "local"},
        }
        for rank in range(2)
    ]
