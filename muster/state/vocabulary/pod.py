"""A pod as the decision sees it, and the program and requests of one group's pods as the plan has them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec

from muster.api.last_words import NONE, Child
from muster.api.values.accelerators import Devices
from muster.api.values.termination_message import SIGNALLED


class PodPhase(StrEnum):
    """Kubernetes' pod phases (core/v1 PodStatus.phase)."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


PATIENT = frozenset(("ContainerCreating", "PodInitializing", ""))
"""Reasons for waiting in a normal start (kubernetes: pkg/kubelet)."""
SCHEDULING_GATED = "SchedulingGated"
"""Reason of a false PodScheduled condition while ``spec.schedulingGates`` is not empty (core/v1)."""

_ENDED = _SUCCEEDED, _FAILED = PodPhase.SUCCEEDED, PodPhase.FAILED
"""Constants, because each pod that changes needs them: in Python 3.11 an attribute of an enumeration costs a call."""


class Exit(msgspec.Struct, frozen=True, gc=False):
    """The end of a member: its container ``main``, else the one that decides (core/v1 ContainerStateTerminated)."""

    container: str
    code: int
    signal: int
    reason: str
    message: str
    finished_at: float
    """Wall seconds, or 0 if the kubelet reported none."""
    explains: bool = True
    """True if the message is the exception or the status that ended the program; else it is the end of its log."""
    last_line: str = ""
    raised_at: str = ""
    """The place that raised the exception: ``train.py:41 in next``; empty if no traceback has it."""
    child: Child = NONE
    """The end of the process that a launcher had started, by the launcher's report."""
    started_at: float = 0.0
    """The start of what ended, in wall seconds, or 0 if the kubelet reported none."""

    @property
    def own_code(self) -> int:
        """Return the exit code of the program: that of a launcher's process if it is known, else the container's."""
        code = self.child.code
        return SIGNALLED - code if code < 0 else code or self.code


class Pod(msgspec.Struct, frozen=True, gc=False):
    """A pod of some experiment. Times are wall seconds since 1970; empty strings and 0 mean "not reported".

    It is flat, small and immutable. Watchers build it from a watch event and nothing else of the pod is kept (budget:
    1.5 KB each). ``gc=False`` keeps hundreds of thousands of them out of the garbage collector's sight; nothing here
    can form a cycle.
    """

    uid: str
    name: str
    namespace: str
    resource_version: int
    owner: str
    """The uid of the experiment that controls it; empty for a pod that only looks like one of Muster's."""
    group: str
    job: int
    index: int
    rank: int
    epoch: int
    phase: PodPhase = PodPhase.UNKNOWN
    ready: bool = False
    terminating: bool = False
    """A deletionTimestamp is set."""
    delete_by: float = 0.0
    """The end of a terminating pod's grace period."""
    scheduled: bool = False
    node: str = ""
    ip: str = ""
    started: bool = False
    """The main container runs or ran."""
    waiting_reason: str = ""
    """The reason why it waits: Unschedulable, ImagePullBackOff, ContainerCreating, CreateContainerConfigError ..."""
    waiting_message: str = ""
    """The message of that reason; of a pod with scheduling gates, their names."""
    exit: Exit | None = None
    disruption: str = ""
    """Reason of a true DisruptionTarget condition (TerminationTarget is Kueue's), or of a pod failure that the node
    caused (Evicted, NodeLost ...)."""
    attempt: int = 0
    """The life of its job within the epoch; -1 for nonsense."""
    stopped_at: float = 0.0
    """The first request to end, by a deletion or a disruption; 0 if there was none, or its time is unknown."""
    restarts: int = 0
    """Restarts of its containers in place, where they count (pods of Jobs)."""
    last_exit: Exit | None = None
    """The end of the last container that was then started again."""
    cut_off: bool = False
    """True if its node is NotReady: the pod was marked not ready while its containers report ready."""
    holder: str = ""
    """The container that keeps the member and is not its own: ``init container fetch``, ``sidecar proxy``."""
    outlived_by: str = ""
    """The container that runs on after the program has ended with 0, if the pod's phase alone decides its end."""
    started_at: float = 0.0
    """The start of its running program, by the clock of its node; 0 if that is unknown, or it does not run."""
    sandboxed: bool = True
    """False while the kubelet reports that its volumes are not mounted or its network is not set up."""
    unhealthy: str = ""
    """A device of the pod that its plugin reports as Unhealthy: resource and id, and the number of others."""
    created: float = 0.0
    """The creation of a watched pod."""
    parent: str = ""
    """For a watched pod: uid of its object, if its labels name it. ``owner`` is the owner key.
    For a pod of Muster: the label with its owner's uid, if that differs from its owner reference."""
    devices: Devices = ()
    """The devices of a watched pod's requests. For a pod of Muster the plan has them."""
    asks: str = ""
    """The requests to Muster in a watched pod's annotations, as JSON."""

    @property
    def live(self) -> bool:
        """Return True if some container of it may still run, if only a sidecar."""
        return self.phase not in _ENDED

    @property
    def succeeded(self) -> bool:
        """Return True if the member is done: its main container has ended with 0, whatever runs or fails beside it.

        A program that was asked to end and obeys with 0 has not succeeded: its work is not done.
        """
        done = self.phase is _SUCCEEDED or (self.exit is not None and self.exit.code == 0)
        return done and not self.interrupted

    @property
    def interrupted(self) -> bool:
        """Return True if the main container ended after a request. Times are whole seconds; equal counts as after."""
        return self.exit is not None and 0.0 < self.stopped_at <= self.exit.finished_at

    @property
    def failed(self) -> bool:
        """Return True if the member ended with an error, whatever the pod's phase, or its pod failed before its end."""
        return not self.succeeded and (self.phase is _FAILED or self.exit is not None)

    def same_content(self, newer: "Pod") -> bool:
        """Return True if a newer record of the pod differs in no tracked field."""
        return msgspec.structs.replace(newer, resource_version=self.resource_version) == self


class Source(StrEnum):
    """The source of the value of an injected environment variable."""

    LITERAL = "literal"
    RANK = "rank"
    EPOCH = "epoch"
    ATTEMPT = "attempt"
    JOB_INDEX = "job-index"
    POD_INDEX = "pod-index"
    JOB_GLOBAL_INDEX = "job-global-index"
    JOB_GROUP_INDEX = "job-group-index"
    """The job's index among the jobs of the groups that share a JobSet's ``groupName``."""
    JOB_NAME = "job-name"
    """``<name>-<group>-<job>``: the name of the Job that a JobSet would have."""
    JOB_KEY = "job-key"
    """SHA-1 of ``<namespace>/<job name>``, in hexadecimal digits (jobset: pkg/controllers, jobHashKey)."""
    RESTARTS = "restarts"
    """The number of restarts of the gang."""
    JOB_RESTARTS = "job-restarts"
    """The number of restarts of the job alone."""
    COORDINATOR_HOST = "coordinator-host"
    MEMBER_HOSTS = "member-hosts"
    """``<hostname>.<subdomain>`` of all members in rank order, separated by commas."""
    POD_IP = "pod-ip"
    POD_NAME = "pod-name"


@dataclass(frozen=True, slots=True)
class Env:
    """One injected variable. Order matters: ``$(NAME)`` expands only variables listed before (core/v1 EnvVar)."""

    name: str
    source: Source
    value: str = ""


@dataclass(frozen=True, slots=True)
class Port:
    """A port that the member's container listens on (core/v1 ContainerPort); informational, as in Kubernetes."""

    name: str
    number: int


@dataclass(frozen=True, slots=True)
class Volume:
    """An existing PersistentVolumeClaim mounted in every member of the group."""

    claim: str
    path: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim that is created before the first pod."""

    name: str
    spec: Mapping[str, Any]
    """core/v1 PersistentVolumeClaimSpec."""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    owned: bool = True
    """True if it is deleted with the object of the plan."""
    exclusive: bool = False
    """True if an existing claim of that name is used only if the object of the plan controls it."""


class Toleration(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A node taint a member tolerates (core/v1 Toleration).

    What is empty is left out: beside Exists a value must be absent.
    """

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    seconds: int | None = msgspec.field(name="tolerationSeconds", default=None)


@dataclass(frozen=True, slots=True)
class PodSpec:
    """One member's pod, apart from its names, labels and environment: data that the renderer turns into a core/v1 Pod.

    Nothing of it belongs to one framework. Quantities are canonical Kubernetes strings, sizes are bytes, spans are
    seconds. ``requests`` and ``limits`` are those of the container, ``shm_bytes`` sizes ``/dev/shm`` (0: the runtime's
    default), ``grace`` is the time between SIGTERM and SIGKILL, ``pre_stop`` the command of the preStop hook and
    ``ptrace`` whether the container gets the capability SYS_PTRACE.
    """

    image: str = ""
    command: str = ""
    """One line for ``/bin/sh -c``."""
    argv: tuple[str, ...] = ()
    """The program and its arguments, which no shell reads; unless empty, it is used in place of ``command``."""
    requests: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, str] = field(default_factory=dict)
    shm_bytes: int = 0
    scratch: str = ""
    """Path at which each pod has an empty directory of its own, gone with the pod; empty: it has none."""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()
    volumes: tuple[Volume, ...] = ()
    grace: int = 30
    pre_stop: tuple[str, ...] = ()
    ptrace: bool = False
    assist: bool = False
    """True if the code of ``muster.assist`` is mounted, and Python finds it."""
    progress_endpoint: bool = False
    """True if members get the address of musterd's progress endpoint."""
    quotes_log: bool = True
    """True if the kubelet copies the last lines of a failed container into the status; False if they hold a secret."""
