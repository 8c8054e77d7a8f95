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
from muster.api.values.accelerators import Devices
from muster.api.values.ras_address import ras_port
from muster.state.vocabulary.group import DASHBOARD, Coordinator, Group, Member, Role, devices_of_member
from muster.state.vocabulary.plan_parts import Edits, Failures, Lifecycle, Naming, RestartPolicy, Watching
from muster.state.vocabulary.pod import Claim
from muster.state.vocabulary.rules import EVERY_JOB, ClockName, ClockRule, SuccessRule
from muster.state.vocabulary.subject import EXPERIMENT, Names, Subject, title

MAX_EPOCH: Final = 10**8
"""The highest epoch, and attempt: labels of pods have nine digits for each, and no gang restarts so often."""


class Engine(StrEnum):
    """The creator of the pods."""

    NATIVE = "native"
    """Muster creates and deletes the pods."""
    WATCH = "observe"
    """Another controller owns the pods: Muster watches them, and a decision holds no action."""


_FIRST_RANK: Final = attrgetter("first_rank")
_SIZE: Final = attrgetter("size")


@dataclass(frozen=True, slots=True)
class Queue:
    """The queue whose admission the pods await: a LocalQueue of Kueue."""

    name: str
    priority_class: str = ""
    """The WorkloadPriorityClass; empty: priority 0."""
    workload: str = ""
    """Name of the Workload: other podSets have another name."""


MAX_POD_SETS: Final = 18
"""The most podSets of a Workload (kueue: apis/kueue/v1beta2, WorkloadSpec)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The wanted state of one experiment, for every epoch of its life."""

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
    """True if the groups start one after another (JobSet: startupPolicyOrder InOrder)."""
    claims: tuple[Claim, ...] = ()
    """Claims that are created before the first pod."""
    notice: str = ""
    """Part of the status message while the experiment runs; ``{pod}`` and ``{host}`` are the coordinator's."""
    # The fields below follow from those above. Every decision reads them, so they are computed once.
    by_rank: tuple[Group, ...] = field(init=False, repr=False, compare=False)
    """The groups that have members, by their ranks."""
    size: int = field(init=False, repr=False, compare=False)
    """The number of members in the gang."""
    expected: int = field(init=False, repr=False, compare=False)
    """The number of members that meet at the coordinator: initializers, which have the last ranks, do not."""
    together: int = field(init=False, repr=False, compare=False)
    """The number of members that run at a time: the whole gang, unless a group runs its members one after another."""
    sequential: bool = field(init=False, repr=False, compare=False)
    """True if some group runs fewer members at a time than it has."""
    piecewise: bool = field(init=False, repr=False, compare=False)
    """True if the action of some rule is for a member or a job, and the rest of the gang works on."""
    submitter: int = field(init=False, repr=False, compare=False)
    """The rank that hands the program to the coordinator; -1 if none does."""
    meeting: Member | None = field(init=False, repr=False, compare=False)
    """The coordinator's member."""
    asked: Coordinator | None = field(init=False, repr=False, compare=False)
    """The coordinator, if it is asked who has arrived; None: the pods' readiness counts."""
    ras: Mapping[str, int] = field(init=False, repr=False, compare=False)
    """The port for NCCL's RAS in each group's pods, by group; without the groups whose pods have none."""
    devices: Mapping[str, Devices] = field(init=False, repr=False, compare=False)
    """The devices of each pod's requests, by group; without the groups that ask for none."""

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
        """Return the name for people, on the page and in metrics: it differs for objects of two kinds with one name."""
        return title(self.subject.word, self.name)

    @property
    def leader(self) -> int:
        """Return the rank whose log and exit are the experiment's: the submitter's, else rank 0."""
        return max(self.submitter, 0)

    @property
    def domain(self) -> str:
        """Return the name of the headless Service, which is the subdomain of the members."""
        return self.naming.subdomain or self.name

    @property
    def targets(self) -> tuple[Group, ...]:
        """Return the groups that the success rule asks for."""
        names = self.success.groups
        return tuple(group for group in self.groups if group.name in names) if names else self.groups

    @property
    def wanted(self) -> bool:
        """Return True if members are to run: the experiment is not cancelled, suspended or being deleted."""
        return not (self.lifecycle.cancel or self.lifecycle.suspend or self.lifecycle.deleting)

    def clock(self, name: ClockName) -> ClockRule | None:
        """Return the rule of that clock, or None if it does not run."""
        return next((clock for clock in self.clocks if clock.name is name), None)

    def members(self) -> Iterator[Member]:
        """Yield every member, in rank order."""
        return (group.member(offset) for group in self.groups for offset in range(group.size))

    def group(self, name: str) -> Group | None:
        """Return the group of that name, or None."""
        return next((group for group in self.groups if group.name == name), None)

    def group_of(self, rank: int) -> Group | None:
        """Return the group that holds ``rank``, or None if no member has it."""
        at = bisect_right(self.by_rank, rank, key=_FIRST_RANK) - 1
        if at < 0:
            return None
        group = self.by_rank[at]
        return group if rank < group.first_rank + group.size else None

    def member(self, rank: int) -> Member | None:
        """Return the member with that rank, or None."""
        group = self.group_of(rank)
        return group.member(rank - group.first_rank) if group else None

    def job_of(self, rank: int) -> int | None:
        """Return the index of that rank's job among the jobs of all groups, or None if no member has the rank."""
        group = self.group_of(rank)
        return group.first_job + group.member(rank - group.first_rank).job if group else None

    def place(self, rank: int) -> str:
        """Return ``gpu-1`` or ``gpu-0-1``: the member by its group; empty in a plan of one group: rank is enough."""
        group = self.group_of(rank)
        if group is None or (len(self.groups) == 1 and not group.named):
            return ""
        member = group.member(rank - group.first_rank)
        if group.completions == 1:
            return f"{group.name}-{member.job}"
        return f"{group.name}-{member.pod}" if group.replicas == 1 else f"{group.name}-{member.job}-{member.pod}"

    def job_name(self, group: str, job: int) -> str:
        """Return the name of a job (JobSet: that of the batch/v1 Job)."""
        return f"{self.name}-{group}-{job}"

    def pod_name(self, member: Member, epoch: int, attempt: int = 0) -> str:
        """Return the name of the member's pod in that epoch and attempt."""
        suffix = name_suffix(self.uid, epoch, attempt)
        return self.naming.names.pod(self.name, member.group, member.job, member.pod, suffix)

    def named(self, name: str, rank: int, epoch: int, attempt: int = 0) -> Member | None:
        """Return the member with that rank if ``name`` is the name of its pod in that epoch and attempt, else None."""
        member = self.member(rank) if 0 <= epoch <= MAX_EPOCH and 0 <= attempt <= MAX_EPOCH else None
        return member if member is not None and name == self.pod_name(member, epoch, attempt) else None

    def hostname(self, member: Member, epoch: int) -> str:
        """Return the member's host name in that epoch, inside the subdomain of the plan.

        It is the same in every attempt: the other members keep calling the address they know.
        """
        return self.naming.names.host(self.name, member.group, member.job, member.pod, self.uid, epoch)

    def coordinator_host(self, epoch: int) -> str:
        """Return ``<hostname>.<subdomain>`` of the coordinator in that epoch; empty without a coordinator."""
        if self.meeting is None:
            return ""
        return f"{self.hostname(self.meeting, epoch)}.{self.domain}"

    def member_hosts(self, epoch: int) -> Iterator[str]:
        """Yield ``<hostname>.<subdomain>`` of each member in that epoch, in rank order."""
        return (f"{self.hostname(member, epoch)}.{self.domain}" for member in self.members())

    def submission(self, epoch: int) -> str:
        """Return the name under which the program is handed to the coordinator of that epoch."""
        return self.naming.submits_as or f"{self.name}-{epoch}"

    def notice_in(self, epoch: int) -> str:
        """Return the notice in that epoch."""
        if not self.notice:
            return ""
        pod = self.pod_name(self.meeting, epoch) if self.meeting else ""
        return self.notice.replace("{pod}", pod).replace("{host}", self.coordinator_host(epoch))

    def dashboard_address(self, epoch: int) -> str:
        """Return host and port of the coordinator's web page in that epoch; empty if it has none.

        For a watched run it is ``:8265``: its own controller names the host, and the coordinator's pod has an address.
        """
        if self.coordinator is None or not self.coordinator.ports:
            return ""
        number = next((port.number for port in self.coordinator.ports if port.name == DASHBOARD), 0)
        if number and self.naming.names is Names.WATCHED:
            return f":{number}"
        return self._address(self.coordinator, number, epoch) if number else ""

    def coordinator_address(self, epoch: int) -> str:
        """Return host and port at which the members meet in that epoch; empty without a coordinator."""
        return self._address(self.coordinator, self.coordinator.port, epoch) if self.coordinator else ""

    def _address(self, coordinator: Coordinator, port: int, epoch: int) -> str:
        if self.naming.names is Names.WATCHED:
            return f"port {port} of rank {coordinator.rank}"
        return f"{self.coordinator_host(epoch)}:{port}"
