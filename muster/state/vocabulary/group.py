"""Groups and members: one type of the manifest, and one pod's place in the gang."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec

from muster.api.names import CONTAINER
from muster.api.values.devices import Devices, of_containers
from muster.state.vocabulary.pod_spec import Env, PodSpec, Port
from muster.state.vocabulary.rules import Gate


class Role(StrEnum):
    """What a group is to the experiment; the label ``muster.dev/role`` of its pods."""

    WORKER = "worker"
    COORDINATOR = "coordinator"
    """A group of its own for the member at which the others meet."""
    HEAD = "head"
    """The same, where it also serves requests from outside (Ray)."""
    INITIALIZER = "initializer"
    """A group that prepares what the others need, and ends before they begin."""
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
    """``template`` is the whole pod: nothing of ``pod`` but its grace is used, and ``env`` goes to all containers."""
    labels: tuple[Env, ...] = ()
    """Labels of each pod beside Muster's own; only with ``whole``."""
    annotations: tuple[Env, ...] = ()
    """Annotations of each pod; only with ``whole``."""
    coordinator_labels: tuple[Env, ...] = ()
    """Labels of the coordinator's pod alone; only with ``whole``."""
    role: Role = Role.WORKER
    ports: tuple[Port, ...] = ()
    gates: tuple[Gate, ...] = ()
    """All of them must be open before a pod of the group is created."""
    first_of_label: int = 0
    """Index of its first job among the jobs of the groups that share a JobSet's ``groupName``."""
    exclusive: str = ""
    """Node label: each value (a rack, a node pool) belongs to one job alone."""
    sparse: bool = False
    """Its jobs are replicas that keep their indices when others go, so that an index may be ``replicas`` or more."""
    named: bool = False
    """Sentences name the job of a member, though it is the only group: the names of its pods do not tell all."""
    leader_first: bool = False
    """The first member of each job has a pod, and is ready, before the others get theirs."""
    labelled_nodes: bool = False
    """The nodes of each job carry its name as a label already."""

    @property
    def size(self) -> int:
        """How many members the group has."""
        return self.replicas * self.completions

    @property
    def at_a_time(self) -> int:
        """How many members of the group run together."""
        return self.replicas * min(self.parallelism or self.completions, self.completions)

    def ranks_of(self, job: int) -> range:
        """The ranks of the members of that job."""
        first = self.first_rank + job * self.completions
        return range(first, first + self.completions)

    def member(self, offset: int) -> Member:
        """The member at ``offset`` within the group (0 <= offset < size)."""
        job, pod = divmod(offset, self.completions)
        return Member(self.name, job, pod, self.first_rank + offset)


def devices_of_member(group: Group) -> Devices:
    """What one pod of the group asks for: its own container's resources, with its template merged over them."""
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
