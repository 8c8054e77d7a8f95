"""The plan: the one form every input takes before anything decides or renders.

An operator file (``muster.state.operators``) turns a spec into a plan; from there on nobody asks which framework it
serves. A plan is data: it holds no callables, so two equal specs give equal plans, and a plan can be printed.

Ranks are dense: groups in order, within a group jobs in order, within a job pods in order.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec

from muster.api.names import epoch_suffix, member_hostname, pod_name


class ProbeKind(StrEnum):
    """How the coordinator is asked who has arrived."""

    NONE = "none"
    JAX = "jax"

    @property
    def passive(self) -> bool:
        """The probe does not say who has arrived: readiness of the pods must do."""
        return self is not ProbeKind.JAX


class StartupOrder(StrEnum):
    """Which members are created when (the gate of a group is what it waits for)."""

    ALL_AT_ONCE = "AllAtOnce"
    COORDINATOR_FIRST = "CoordinatorFirst"


class ClockName(StrEnum):
    """The deadlines that can run over an experiment; ``muster.state.policies.deadline`` says from when to when."""

    TOTAL = "total"
    PENDING = "pending"
    ASSEMBLY = "assembly"
    TERMINATING = "terminating"


class ClockAction(StrEnum):
    """What happens when a clock has run out."""

    FAIL = "Fail"
    RESTART = "Restart"
    ALERT = "Alert"


@dataclass(frozen=True, slots=True)
class Clock:
    """A deadline: ``after`` seconds, then the action."""

    after: float
    action: ClockAction


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds to wait before restart number k: ``initial * factor**(k-1)``, at most ``maximum``."""

    initial: float = 5.0
    maximum: float = 300.0
    factor: float = 2.0

    def delay(self, restart: int) -> float:
        """The wait before the ``restart``-th restart (counted from 1)."""
        doublings = min(max(restart - 1, 0), 64)  # 64 doublings exceed every maximum; the cap keeps the power finite
        return float(min(self.maximum, self.initial * self.factor**doublings))


class Source(StrEnum):
    """Where the value of an injected environment variable comes from."""

    LITERAL = "literal"
    RANK = "rank"
    EPOCH = "epoch"
    JOB_INDEX = "job-index"
    POD_INDEX = "pod-index"
    JOB_GLOBAL_INDEX = "job-global-index"
    COORDINATOR_HOST = "coordinator-host"
    POD_IP = "pod-ip"


@dataclass(frozen=True, slots=True)
class Env:
    """One injected variable. Order matters: ``$(NAME)`` expands only variables listed before (core/v1 EnvVar)."""

    name: str
    source: Source
    value: str = ""


@dataclass(frozen=True, slots=True)
class Volume:
    """An existing PersistentVolumeClaim mounted in every member."""

    claim: str
    path: str


@dataclass(frozen=True, slots=True)
class Toleration:
    """A node taint a member tolerates (core/v1 Toleration)."""

    key: str
    operator: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Shape:
    """What one member's pod asks of its node. Quantities are canonical Kubernetes strings, sizes in bytes."""

    requests: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, str] = field(default_factory=dict)
    shm_bytes: int = 0
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()


class Member(msgspec.Struct, frozen=True):
    """One pod's place in the gang."""

    group: str
    job: int
    pod: int
    rank: int


@dataclass(frozen=True, slots=True)
class Group:
    """One type of the manifest: ``replicas`` jobs of ``completions`` pods each."""

    name: str
    replicas: int
    completions: int
    shape: Shape
    first_rank: int
    first_job: int = 0
    env: tuple[Env, ...] = ()
    parallelism: int = 0
    """Members of one job that run at a time; 0 means all of them."""
    template: Mapping[str, Any] = field(default_factory=dict)
    """core/v1 PodTemplateSpec merged over the rendered pod: already checked, immutable by convention."""

    @property
    def size(self) -> int:
        """How many members the group has."""
        return self.replicas * self.completions

    @property
    def at_a_time(self) -> int:
        """How many members of the group run together."""
        return self.replicas * min(self.parallelism or self.completions, self.completions)

    def member(self, offset: int) -> Member:
        """The member at ``offset`` within the group (0 <= offset < size)."""
        job, pod = divmod(offset, self.completions)
        return Member(self.name, job, pod, self.first_rank + offset)


@dataclass(frozen=True, slots=True)
class Coordinator:
    """The member the others meet at."""

    rank: int
    port: int
    probe: ProbeKind


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that is wanted of one experiment, for every epoch of its life. ``limit`` counts gang restarts."""

    uid: str
    namespace: str
    name: str
    generation: int
    operator: str
    image: str
    command: str
    groups: tuple[Group, ...]
    coordinator: Coordinator | None
    startup: StartupOrder = StartupOrder.ALL_AT_ONCE
    limit: int = 3
    backoff: Backoff = Backoff()
    clocks: Mapping[ClockName, Clock] = field(default_factory=dict)
    suspend: bool = False
    cancel: bool = False
    deleting: bool = False
    grace: int = 30
    """Seconds between SIGTERM and SIGKILL when a person ends the run."""
    pre_stop: tuple[str, ...] = ()
    ptrace: bool = False
    volumes: tuple[Volume, ...] = ()

    @property
    def size(self) -> int:
        """How many members make up the gang."""
        return sum(group.size for group in self.groups)

    @property
    def together(self) -> int:
        """How many members run at a time: the whole gang, unless a group runs its members one after another."""
        return sum(group.at_a_time for group in self.groups)

    @property
    def sequential(self) -> bool:
        """Some group runs fewer members at a time than it has."""
        return self.together < self.size

    def members(self) -> Iterator[Member]:
        """Every member, in rank order."""
        for group in self.groups:
            for offset in range(group.size):
                yield group.member(offset)

    def group_of(self, rank: int) -> Group | None:
        """The group that holds ``rank``, or None where no member has it."""
        for group in self.groups:
            if group.first_rank <= rank < group.first_rank + group.size:
                return group
        return None

    def member(self, rank: int) -> Member | None:
        """The member with that rank, or None."""
        group = self.group_of(rank)
        return group.member(rank - group.first_rank) if group else None

    def pod_name(self, member: Member, epoch: int) -> str:
        """The name of the member's pod in that epoch."""
        return pod_name(self.name, member.group, member.job, member.pod, epoch_suffix(self.uid, epoch))

    def hostname(self, member: Member, epoch: int) -> str:
        """The member's host name in that epoch, inside the subdomain that bears the experiment's name."""
        return member_hostname(member.group, member.job, member.pod, epoch_suffix(self.uid, epoch))

    def coordinator_host(self, epoch: int) -> str:
        """``<hostname>.<subdomain>`` of the coordinator in that epoch; empty without a coordinator."""
        member = self.member(self.coordinator.rank) if self.coordinator else None
        return f"{self.hostname(member, epoch)}.{self.name}" if member else ""

    def coordinator_address(self, epoch: int) -> str:
        """Host and port the members meet at in that epoch; empty without a coordinator."""
        return f"{self.coordinator_host(epoch)}:{self.coordinator.port}" if self.coordinator else ""
