"""Groups, members and the coordinator of a plan: a type of the manifest, a pod's place, and where all members meet."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import msgspec

from muster.api.names import CONTAINER
from muster.api.values.accelerators import Devices, of_containers
from muster.state.vocabulary.pod import Env, PodSpec, Port
from muster.state.vocabulary.rules import Gate


class Role(StrEnum):
    """The part of a group in the experiment; the label ``muster.dev/role`` of its pods."""

    WORKER = "worker"
    COORDINATOR = "coordinator"
    """A group of its own for the member at which the others meet."""
    HEAD = "head"
    """A coordinator's group that also serves requests from outside (Ray)."""
    INITIALIZER = "initializer"
    """A group that prepares the work of the others, and ends before they begin."""
    SUBMITTER = "submitter"
    """A group of one member that hands the program to the others, and ends as the program does."""


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
    pod: PodSpec
    first_rank: int
    first_job: int = 0
    env: tuple[Env, ...] = ()
    parallelism: int = 0
    """Members of one job that run at a time; 0 means all of them."""
    template: Mapping[str, Any] = field(default_factory=dict)
    """core/v1 PodTemplateSpec merged over the rendered pod: already checked, immutable by convention."""
    whole: bool = False
    """True if ``template`` is the whole pod: of ``pod`` only the grace is used, and all containers get ``env``."""
    labels: tuple[Env, ...] = ()
    """Labels of each pod beside Muster's own; only with ``whole``."""
    annotations: tuple[Env, ...] = ()
    """Annotations of each pod; only with ``whole``."""
    coordinator_labels: tuple[Env, ...] = ()
    """Labels of the coordinator's pod alone; only with ``whole``."""
    role: Role = Role.WORKER
    ports: tuple[Port, ...] = ()
    gates: tuple[Gate, ...] = ()
    """Gates that must all be open before a pod of the group is created."""
    first_of_label: int = 0
    """Index of the group's first job among the jobs of the groups that share a JobSet's ``groupName``."""
    exclusive: str = ""
    """The node label of exclusive jobs: each value (a rack, a node pool) belongs to one job alone."""
    sparse: bool = False
    """True if jobs keep their indices when others are removed, so that an index may be ``replicas`` or more."""
    named: bool = False
    """True if sentences name a member's job even in a plan of one group: its pods' names do not show the job."""
    leader_first: bool = False
    """True if the first member of each job must have a ready pod before the others get theirs."""
    labelled_nodes: bool = False
    """True if the nodes of each job have its name as a label already."""

    @property
    def size(self) -> int:
        """Return the number of members."""
        return self.replicas * self.completions

    @property
    def at_a_time(self) -> int:
        """Return the number of members that run together."""
        return self.replicas * min(self.parallelism or self.completions, self.completions)

    def ranks_of(self, job: int) -> range:
        """Return the ranks of the members of that job."""
        first = self.first_rank + job * self.completions
        return range(first, first + self.completions)

    def member(self, offset: int) -> Member:
        """Return the member at ``offset`` within the group (0 <= offset < size)."""
        job, pod = divmod(offset, self.completions)
        return Member(self.name, job, pod, self.first_rank + offset)


def devices_of_member(group: Group) -> Devices:
    """Return the devices of one pod's requests: its container's resources, with the template merged over them."""
    stated = group.template.get("spec")
    spec = stated if isinstance(stated, Mapping) else {}
    containers = spec.get("containers")
    others = [each for each in containers if isinstance(each, Mapping)] if isinstance(containers, list | tuple) else []
    if not group.whole:
        main = next((each for each in others if each.get("name") == CONTAINER), {})
        own = main.get("resources")
        asked = own if isinstance(own, Mapping) else {}
        limits = asked.get("limits")
        merged = {**group.pod.limits, **(limits if isinstance(limits, Mapping) else {})}
        others = [{"resources": {**asked, "limits": merged}}, *(each for each in others if each is not main)]
    return of_containers(others, spec.get("resourceClaims"))


DASHBOARD: Final = "dashboard"
"""Name of the port at which a coordinator shows its web page."""
AGENT: Final = "agent"
"""Name of the port at which a coordinator reports the health of its own node."""


class ProbeKind(StrEnum):
    """The probe that asks the coordinator who has arrived."""

    NONE = "none"
    JAX = "jax"
    RAY = "ray"
    TORCH = "torch"
    TCP = "tcp"
    HTTP = "http"
    GRPC = "grpc"

    @property
    def stated(self) -> bool:
        """Return True if the probe shows that the coordinator serves, and of no member that it has arrived."""
        return self in (ProbeKind.TCP, ProbeKind.HTTP, ProbeKind.GRPC)

    @property
    def passive(self) -> bool:
        """Return True if the probe does not show who has arrived: the pods' readiness counts."""
        return self is ProbeKind.NONE


class Completeness(StrEnum):
    """The condition for a complete roll of a coordinator."""

    PASSED = "passed"
    """The rendezvous has passed: the coordinator lets all members through together (JAX)."""
    ARRIVED = "arrived"
    """Every member has arrived: members continue one by one."""


@dataclass(frozen=True, slots=True)
class Coordinator:
    """The member at which the others meet, and Muster's patience with it."""

    rank: int
    port: int
    probe: ProbeKind
    quiet: float = 6.0
    """Seconds without a change of the roll, or without an answer, after which the gang counts as stuck."""
    first_serve: float = 240.0
    """Seconds the coordinator's program may run before its port opens (imports, data, compilation caches): less than
    the 300 s for which JAX's other members wait for it."""
    complete: Completeness = Completeness.PASSED
    arrivals: float | None = None
    """Seconds without an arrival after which missing ranks count as stuck; None: ``quiet``."""
    ports: tuple[Port, ...] = ()
    """Further ports of the coordinator for its probe: ``dashboard`` is that of its web page."""
    path: str = ""
    """The path of an HTTP probe."""
    token: str = field(default="", repr=False)
    """The token that the probe must show; empty: none."""
    opened_by: str = ""
    """The way in which a program opens the port, for people whose gang waits for it."""
    may_close: bool = False
    """True if the port may close before the program ends: after the rendezvous a refused port is no alarm."""

    @property
    def opening(self) -> str:
        """Return ``; rank 0 opens it in ...``, as the end of a sentence; empty if the operator has no such text."""
        return f"; {self.opened_by}" if self.opened_by else ""
