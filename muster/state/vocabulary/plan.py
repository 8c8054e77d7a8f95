"""The plan: the one form every input takes before anything decides or renders.

An operator file (``muster.kinds``) turns a spec into a plan; from there on no code asks which framework it serves.
A plan is data: it holds no callables, so two equal specs give equal plans, and a plan can be printed.

Ranks are dense: groups in order, within a group jobs in order, within a job pods in order.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from operator import attrgetter
from typing import Final

from muster.api.names import name_suffix
from muster.api.values.devices import Devices
from muster.api.values.ras_address import ras_port
from muster.state.vocabulary.coordinator import DASHBOARD, Coordinator
from muster.state.vocabulary.group import Group, Member, Role, devices_of_member
from muster.state.vocabulary.plan_parts import Edits, Failures, Lifecycle, Naming, RestartPolicy, Watching
from muster.state.vocabulary.pod_spec import Claim
from muster.state.vocabulary.rules import EVERY_JOB, ClockName, ClockRule, SuccessRule
from muster.state.vocabulary.subject import EXPERIMENT, Names, Subject, title

MAX_EPOCH: Final = 10**8
"""No gang was ever restarted so often, and the labels of its pods have nine digits for it. So have attempts."""


class Engine(StrEnum):
    """Who makes the pods."""

    NATIVE = "native"
    """Muster creates and deletes the pods."""
    WATCH = "observe"
    """Another controller owns the pods: Muster watches them, and a decision holds no action."""


_FIRST_RANK: Final = attrgetter("first_rank")
_SIZE: Final = attrgetter("size")


@dataclass(frozen=True, slots=True)
class Queue:
    """The queue whose admission the pods wait for: a LocalQueue of Kueue."""

    name: str
    priority_class: str = ""
    """The WorkloadPriorityClass; empty: priority 0."""
    workload: str = ""
    """Name of the Workload: another one where the podSets are others."""


MAX_POD_SETS: Final = 18
"""The most podSets of a Workload (kueue: apis/kueue/v1beta2, WorkloadSpec)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that is wanted of one experiment, for every epoch of its life."""

    uid: str
    namespace: str
    name: str
    generation: int
    operator: str
    groups: tuple[Group, ...]
    coordinator: Coordinator | None
    success: SuccessRule = EVERY_JOB
    failures: Failures = field(default_factory=Failures)
    restarts: RestartPolicy = field(default_factory=RestartPolicy)
    clocks: tuple[ClockRule, ...] = ()
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    edits: Edits = field(default_factory=Edits)
    engine: Engine = Engine.NATIVE
    subject: Subject = EXPERIMENT
    naming: Naming = field(default_factory=Naming)
    watching: Watching = field(default_factory=Watching)
    queue: Queue | None = None
    in_order: bool = False
    """Its groups start one after another (JobSet: startupPolicyOrder InOrder)."""
    claims: tuple[Claim, ...] = ()
    """Claims that are created before the first pod."""
    notice: str = ""
    """What the message says while it runs; ``{pod}`` and ``{host}`` are the coordinator's."""
    # What follows from the fields above. Every decision asks for it, so it is computed once.
    by_rank: tuple[Group, ...] = field(init=False, repr=False, compare=False)
    """The groups that have members, by their ranks."""
    size: int = field(init=False, repr=False, compare=False)
    """How many members make up the gang."""
    expected: int = field(init=False, repr=False, compare=False)
    """How many of them meet at the coordinator: initializers, which have the last ranks, do not."""
    together: int = field(init=False, repr=False, compare=False)
    """How many members run at a time: the whole gang, unless a group runs its members one after another."""
    sequential: bool = field(init=False, repr=False, compare=False)
    """Some group runs fewer members at a time than it has."""
    piecewise: bool = field(init=False, repr=False, compare=False)
    """Some failure concerns a member or a job, and leaves the rest of the gang at work."""
    submitter: int = field(init=False, repr=False, compare=False)
    """The rank that hands the program to the coordinator; -1 where none does."""
    meeting: Member | None = field(init=False, repr=False, compare=False)
    """The coordinator's member."""
    asked: Coordinator | None = field(init=False, repr=False, compare=False)
    """The coordinator, if it is asked who has arrived; None: readiness of the pods must do."""
    ras: Mapping[str, int] = field(init=False, repr=False, compare=False)
    """By group, the port at which its pods let NCCL's RAS be asked; without the groups whose pods do not."""
    devices: Mapping[str, Devices] = field(init=False, repr=False, compare=False)
    """By group, what each of its pods asks for; without the groups that ask for none."""

    def __post_init__(self) -> None:
        groups = self.groups
        object.__setattr__(self, "by_rank", tuple(sorted(filter(_SIZE, groups), key=_FIRST_RANK)))  # frozen
        size, together = sum(group.size for group in groups), sum(group.at_a_time for group in groups)
        follows = {
            "size": size,
            "expected": size - sum(group.size for group in groups if group.role is Role.INITIALIZER),
            "together": together,
            "sequential": together < size,
            "piecewise": any(rule.action.partial for rule in self.failures.rules),
            "submitter": next((group.first_rank for group in groups if group.role is Role.SUBMITTER), -1),
            "meeting": self.member(self.coordinator.rank) if self.coordinator else None,
            "asked": None if self.coordinator is None or self.coordinator.probe.passive else self.coordinator,
            "ras": {group.name: port for group in groups if (port := ras_port(group.template))},
            "devices": {group.name: asks for group in groups if (asks := devices_of_member(group))},
        }
        for name, value in follows.items():
            object.__setattr__(self, name, value)

    @property
    def title(self) -> str:
        """The name for people, on the page and in metrics; objects of two kinds may have one name."""
        return title(self.subject.word, self.name)

    @property
    def leader(self) -> int:
        """The rank whose log and exit are the experiment's: the submitter's, else rank 0."""
        return max(self.submitter, 0)

    @property
    def domain(self) -> str:
        """The name of the headless Service, which is the subdomain of the members."""
        return self.naming.subdomain or self.name

    @property
    def wanted(self) -> bool:
        """Its members are to run: it is not cancelled, suspended or being deleted."""
        return not (self.lifecycle.cancel or self.lifecycle.suspend or self.lifecycle.deleting)

    def clock(self, name: ClockName) -> ClockRule | None:
        """The rule of that clock, or None where it does not run."""
        return next((clock for clock in self.clocks if clock.name is name), None)

    def members(self) -> Iterator[Member]:
        """Every member, in rank order."""
        for group in self.groups:
            for offset in range(group.size):
                yield group.member(offset)

    def group(self, name: str) -> Group | None:
        """The group of that name, or None."""
        return next((group for group in self.groups if group.name == name), None)

    def group_of(self, rank: int) -> Group | None:
        """The group that holds ``rank``, or None where no member has it."""
        at = bisect_right(self.by_rank, rank, key=_FIRST_RANK) - 1
        if at < 0:
            return None
        group = self.by_rank[at]
        return group if rank < group.first_rank + group.size else None

    def member(self, rank: int) -> Member | None:
        """The member with that rank, or None."""
        group = self.group_of(rank)
        return group.member(rank - group.first_rank) if group else None

    def job_of(self, rank: int) -> int | None:
        """The index of that rank's job among the jobs of all groups, or None where no member has the rank."""
        group = self.group_of(rank)
        return group.first_job + group.member(rank - group.first_rank).job if group else None

    def place(self, rank: int) -> str:
        """``gpu-1`` or ``gpu-0-1``: the member by its group; empty in a plan of one group, where the rank says it."""
        group = self.group_of(rank)
        if group is None or (len(self.groups) == 1 and not group.named):
            return ""
        member = group.member(rank - group.first_rank)
        if group.completions == 1:
            return f"{group.name}-{member.job}"
        return f"{group.name}-{member.pod}" if group.replicas == 1 else f"{group.name}-{member.job}-{member.pod}"

    def job_name(self, group: str, job: int) -> str:
        """The name of a job (JobSet: that of the batch/v1 Job)."""
        return f"{self.name}-{group}-{job}"

    def pod_name(self, member: Member, epoch: int, attempt: int = 0) -> str:
        """The name of the member's pod in that epoch and attempt."""
        suffix = name_suffix(self.uid, epoch, attempt)
        return self.naming.names.pod(self.name, member.group, member.job, member.pod, suffix)

    def named(self, name: str, rank: int, epoch: int, attempt: int = 0) -> Member | None:
        """The member with that rank if ``name`` is the name of its pod in that epoch and attempt, else None."""
        member = self.member(rank) if 0 <= epoch <= MAX_EPOCH and 0 <= attempt <= MAX_EPOCH else None
        return member if member is not None and name == self.pod_name(member, epoch, attempt) else None

    def hostname(self, member: Member, epoch: int) -> str:
        """The member's host name in that epoch, inside the subdomain of the plan.

        It is the same in every attempt: the other members go on calling the address they know.
        """
        return self.naming.names.host(self.name, member.group, member.job, member.pod, self.uid, epoch)

    def coordinator_host(self, epoch: int) -> str:
        """``<hostname>.<subdomain>`` of the coordinator in that epoch; empty without a coordinator."""
        if self.meeting is None:
            return ""
        return f"{self.hostname(self.meeting, epoch)}.{self.naming.subdomain or self.name}"

    def member_hosts(self, epoch: int) -> Iterator[str]:
        """``<hostname>.<subdomain>`` of each member in that epoch, in rank order."""
        return (f"{self.hostname(member, epoch)}.{self.domain}" for member in self.members())

    def submission(self, epoch: int) -> str:
        """Name under which the program is handed to the coordinator of that epoch."""
        return self.naming.submits_as or f"{self.name}-{epoch}"

    def said(self, epoch: int) -> str:
        """The notice in that epoch."""
        if not self.notice:
            return ""
        pod = self.pod_name(self.meeting, epoch) if self.meeting else ""
        return self.notice.replace("{pod}", pod).replace("{host}", self.coordinator_host(epoch))

    def dashboard_address(self, epoch: int) -> str:
        """Host and port of the coordinator's web page in that epoch; empty where it has none.

        Of a watched run ``:8265``: its own controller names the host, and the pod of the coordinator has an address.
        """
        if self.coordinator is None or not self.coordinator.ports:
            return ""
        number = next((port.number for port in self.coordinator.ports if port.name == DASHBOARD), 0)
        if number and self.naming.names is Names.WATCHED:
            return f":{number}"
        return self._address(self.coordinator, number, epoch) if number else ""

    def coordinator_address(self, epoch: int) -> str:
        """Host and port the members meet at in that epoch; empty without a coordinator."""
        return self._address(self.coordinator, self.coordinator.port, epoch) if self.coordinator else ""

    def _address(self, coordinator: Coordinator, port: int, epoch: int) -> str:
        if self.naming.names is Names.WATCHED:
            return f"port {port} of rank {coordinator.rank}"
        return f"{self.coordinator_host(epoch)}:{port}"
