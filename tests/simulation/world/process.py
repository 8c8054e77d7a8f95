"""A process: what really runs behind a pod, whatever the API server knows of it."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from muster.api.names import LABEL_ATTEMPT, LABEL_EPOCH, LABEL_EXPERIMENT, LABEL_GROUP, LABEL_JOB, LABEL_RANK, LABEL_UID
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
    code: int = 0
    signal: int = 0
    said: str = ""
    """The end of its log, where it says why it failed."""
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
    labels = metadata["labels"]
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
        port=operator.port,
        size=size,
        created_at=now,
        left_out=kept_off(pod),
    )


def kept_off(pod: dict[str, Any]) -> frozenset[str]:
    """The nodes that the affinity of a pod leaves out."""
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", ())
    away = [each["values"] for term in terms for each in term["matchFields"] if each["operator"] == "NotIn"]
    return frozenset(name for names in away for name in names)


def forged(pod: dict[str, Any]) -> bool:
    """Whether a user made the pod: no kubelet runs it."""
    return "forged" in pod["metadata"].get("annotations", {})
