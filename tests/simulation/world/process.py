"""A process: what really runs behind a pod, whatever the API server knows of it."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from muster.api.names import (
    JAX_PORT,
    LABEL_ATTEMPT,
    LABEL_EPOCH,
    LABEL_EXPERIMENT,
    LABEL_GROUP,
    LABEL_JOB,
    LABEL_RANK,
    LABEL_UID,
)
from muster.kinds.pods import OBSERVE
from tests.scenarios.incidents import Child
from tests.scenarios.operators import Operator
from tests.scenarios.scenario import name_of


class Stage(Enum):
    """The stages of a process."""

    WAITING = "waiting"
    RUNNING = "running"
    ENDED = "ended"


@dataclass(slots=True, eq=False)
class Process:
    """The process of one pod, from creation to end, and its part in the gang."""

    uid: str
    path: str
    name: str
    container: str
    experiment: str
    """uid of the Experiment."""
    experiment_name: str
    """The scenario's name of the Experiment."""
    group: str
    job: int
    rank: int
    epoch: int
    attempt: int
    host: str
    coordinator_host: str
    """Empty: members do not meet."""
    port: int
    size: int
    created_at: float
    left_out: frozenset[str] = frozenset()
    """Nodes that the scheduler may not choose."""
    stage: Stage = Stage.WAITING
    node: str = ""
    ip: str = ""
    node_lost: bool = False
    """Its node is lost: no kubelet reports its state any more."""
    unseen: bool = False
    """Nothing has seen how it ended."""
    terminating: bool = False
    stopping: bool = False
    """Its deadline is over: the kubelet ends it, and the pod stays."""
    again: bool = False
    """The kubelet starts its container again in the pod when it fails."""
    restarts: int = 0
    """How often it has."""
    last_end: dict[str, Any] | None = None
    """How its container had ended before that."""
    code: int = 0
    signal: int = 0
    reason: str = "Error"
    said: str = ""
    """The end of its log, where it says why it failed."""
    child: Child | None = None
    """What really ended, where its launcher says it."""
    started_at: float = 0.0
    ended_at: float = 0.0
    removed_at: float = 0.0
    """When its pod was gone from the API server."""
    waiting: str = ""
    """Why the scheduler places it on no node."""
    container_waits: tuple[str, str] | None = None
    """Reason and message with which the kubelet says that it cannot start the container."""
    sidecar: int | None = None
    """The exit code of an injected container that has ended."""
    has_sidecar: bool = False
    disruption: str = ""
    silent: bool = False
    """Probes of it are not answered."""
    released: bool = False
    """It was killed in vain once: the next time it ends."""
    unready: bool = False
    """Its readiness probe fails."""
    serving: bool = False
    assembled: bool = False
    worked_at: float = 0.0
    """When its gang was assembled, and its steps began."""
    left: bool = False
    arrived: dict[int, "Process"] = field(default_factory=dict)
    """Of a coordinator: the registered members by rank."""
    dead: list["Process"] = field(default_factory=list)
    """Of the head of a cluster: nodes that had joined it and were lost."""
    job_ends_at: float = 0.0
    """Of the head of a cluster: when the job that was submitted to it ends; 0 before there is one."""

    @property
    def running(self) -> bool:
        """Whether the program runs."""
        return self.stage is Stage.RUNNING

    @property
    def busy(self) -> bool:
        """Whether any container runs."""
        return self.running or (self.has_sidecar and self.stage is Stage.ENDED and self.sidecar is None)

    @property
    def address(self) -> str:
        """Where it serves, if it does."""
        return f"{self.ip}:{self.port}"


def process_of(path: str, pod: dict[str, Any], operator: Operator, size: int, now: float) -> Process:
    """The process that a new pod describes."""
    metadata, spec = pod["metadata"], pod["spec"]
    labels = metadata["labels"] if not watched(pod) else _member_of_a_watched_gang(pod)
    container = spec["containers"][0]
    variables = {env["name"]: env.get("value", "") for env in container.get("env", ())}
    return Process(
        uid=metadata["uid"],
        path=path,
        name=metadata["name"],
        container=container["name"],
        experiment=labels[LABEL_UID],
        experiment_name=name_of(metadata["namespace"], labels[LABEL_EXPERIMENT]),
        group=labels[LABEL_GROUP],
        job=int(labels[LABEL_JOB]),
        rank=int(labels[LABEL_RANK]),
        epoch=int(labels[LABEL_EPOCH]),
        attempt=int(labels[LABEL_ATTEMPT]),
        host=f"{spec.get('hostname', '')}.{spec['subdomain']}",
        coordinator_host=variables.get(operator.host_variable, ""),
        port=JAX_PORT if watched(pod) else operator.port,
        size=size,
        created_at=now,
        left_out=kept_off(pod),
        again=spec["restartPolicy"] != "Never",
    )


WATCHED = "gang"
"""The name of the watched gang."""


def watched(pod: dict[str, Any]) -> bool:
    """Whether it is one of a gang of jax that no experiment owns, and that Muster only watches over."""
    return OBSERVE in pod["metadata"].get("labels", {})


def watched_pod(rank: int, size: int) -> dict[str, Any]:
    """A member of it, whose container is started again in its pod."""
    variables = [{"name": "JAXOPERATOR_COORDINATOR_HOST", "value": f"{WATCHED}-0.{WATCHED}"}]
    container = {"name": "main", "image": "demo", "env": variables}
    name, asks = f"{WATCHED}-{rank}", {"muster.dev/operator": "jax", "muster.dev/size": str(size)}
    metadata = {"namespace": "team", "name": name, "labels": {OBSERVE: WATCHED}, "annotations": asks}
    spec = {"hostname": name, "subdomain": WATCHED, "restartPolicy": "OnFailure", "containers": [container]}
    return {"kind": "Pod", "metadata": metadata, "spec": spec}


def _member_of_a_watched_gang(pod: dict[str, Any]) -> dict[str, str]:
    rank = pod["metadata"]["name"].rpartition("-")[2]
    labels = {LABEL_UID: WATCHED, LABEL_EXPERIMENT: WATCHED, LABEL_GROUP: "", LABEL_RANK: rank}
    return labels | {LABEL_JOB: "0", LABEL_EPOCH: "0", LABEL_ATTEMPT: "0"}


def kept_off(pod: dict[str, Any]) -> frozenset[str]:
    """The nodes that the affinity of a pod leaves out."""
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", ())
    away = [each["values"] for term in terms for each in term["matchFields"] if each["operator"] == "NotIn"]
    return frozenset(name for names in away for name in names)


def forged(pod: dict[str, Any]) -> bool:
    """Whether a user made the pod: no kubelet runs it."""
    return "forged" in pod["metadata"].get("annotations", {})
