"""A process: what really runs behind a pod, whatever anybody has heard of it."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from muster.api.names import JAX_PORT, LABEL_EPOCH, LABEL_EXPERIMENT, LABEL_RANK, LABEL_UID


class Stage(Enum):
    """Where a process stands."""

    WAITING = "waiting"
    RUNNING = "running"
    ENDED = "ended"


@dataclass(slots=True, eq=False)
class Process:
    """One pod's process, from its creation to its end, and as a member of its gang."""

    uid: str
    path: str
    name: str
    experiment: str
    """uid of the Experiment."""
    called: str
    """Name of the Experiment."""
    rank: int
    epoch: int
    host: str
    meets_at: str
    size: int
    stage: Stage = Stage.WAITING
    node: str = ""
    ip: str = ""
    cut_off: bool = False
    """Its node is lost: no kubelet reports anything of it any more."""
    dying: bool = False
    code: int = 0
    signal: int = 0
    ended_at: float = 0.0
    waiting: str = ""
    disruption: str = ""
    serving: bool = False
    passed: bool = False
    left: bool = False
    arrived: dict[int, "Process"] = field(default_factory=dict)
    """As a coordinator: who called."""

    @property
    def running(self) -> bool:
        """It may compute, write and talk."""
        return self.stage is Stage.RUNNING

    @property
    def address(self) -> str:
        """Where it serves, if it does."""
        return f"{self.ip}:{JAX_PORT}"


def process_of(path: str, pod: dict[str, Any]) -> Process:
    """The process that a new pod asks for."""
    metadata, spec = pod["metadata"], pod["spec"]
    labels = metadata["labels"]
    variables = {env["name"]: env.get("value", "") for env in spec["containers"][0]["env"]}
    return Process(
        uid=metadata["uid"],
        path=path,
        name=metadata["name"],
        experiment=labels[LABEL_UID],
        called=labels[LABEL_EXPERIMENT],
        rank=int(labels[LABEL_RANK]),
        epoch=int(labels[LABEL_EPOCH]),
        host=f"{spec['hostname']}.{spec['subdomain']}",
        meets_at=variables["JAXOPERATOR_COORDINATOR_HOST"],
        size=int(variables["JAXOPERATOR_NUM_PROCESSES"]),
    )
