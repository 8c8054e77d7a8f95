"""One pod as the decision sees it: flat, small, immutable.

Watchers build it from a watch event and nothing else of the pod is kept (budget: 1.5 KB each). ``gc=False`` keeps
hundreds of thousands of them out of the garbage collector's sight; nothing here can form a cycle.
"""

from enum import StrEnum

import msgspec

from muster.api.last_words.launchers import NONE, Child
from muster.api.values.devices import Devices
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
"""(Asked of each pod that changes: an attribute of an enumeration costs Python 3.11 as much as a call.)"""


class Exit(msgspec.Struct, frozen=True, gc=False):
    """How a member ended: its container ``main``, else the one that decides (core/v1 ContainerStateTerminated)."""

    container: str
    code: int
    signal: int
    reason: str
    message: str
    finished_at: float
    """Wall seconds, or 0 where the kubelet did not say."""
    explains: bool = True
    """The message is the exception or the status that ended the program; else it is the end of its log."""
    last_line: str = ""
    raised_at: str = ""
    """Where the exception was raised: ``train.py:41 in next``; empty where no traceback says it."""
    child: Child = NONE
    """How the process ended that a launcher had started, by its word."""

    @property
    def own_code(self) -> int:
        """The exit code of the program: that of a launcher's process where it is known, else the container's."""
        code = self.child.code
        return SIGNALLED - code if code < 0 else code or self.code


class Pod(msgspec.Struct, frozen=True, gc=False):
    """A pod of some experiment. Times are wall seconds since 1970; empty strings and 0 mean "not said"."""

    uid: str
    name: str
    namespace: str
    resource_version: int
    owner: str
    """uid of the experiment that controls it; empty for a pod that only looks like ours."""
    group: str
    job: int
    index: int
    rank: int
    epoch: int
    phase: PodPhase
    ready: bool
    terminating: bool
    """A deletionTimestamp is set."""
    delete_by: float
    """When the grace period of a terminating pod ends."""
    scheduled: bool
    node: str
    ip: str
    started: bool
    """The main container runs or ran."""
    waiting_reason: str
    """Why it does not run: Unschedulable, ImagePullBackOff, ContainerCreating, CreateContainerConfigError ..."""
    waiting_message: str
    """Of a pod with scheduling gates, their names."""
    exit: Exit | None
    disruption: str
    """Reason of a true DisruptionTarget condition (TerminationTarget is Kueue's), or of a pod failure that the node
    caused (Evicted, NodeLost ...)."""
    attempt: int = 0
    """The life of its job within the epoch; -1 for nonsense."""
    stopped_at: float = 0.0
    """When it was first asked to end, by a deletion or a disruption; 0 where it was not, or the time is unknown."""
    restarts: int = 0
    """Restarts of its containers in place, where they count (pods of Jobs)."""
    last_exit: Exit | None = None
    """How the last of its containers that was started again had ended."""
    cut_off: bool = False
    """Its node is NotReady: it was marked not ready while its containers say that they are."""
    holder: str = ""
    """The container that keeps the member and is not its own: ``init container fetch``, ``sidecar proxy``."""
    outlived_by: str = ""
    """The container that runs on after the program has ended with 0, where the pod's phase alone says how it ends."""
    started_at: float = 0.0
    """When its running program was started, by the clock of its node; 0 where that is unknown, or it does not run."""
    sandboxed: bool = True
    """Not so while the kubelet says that its volumes are not mounted or its network is not set up."""
    unhealthy: str = ""
    """A device of it that its plugin reports as Unhealthy: resource and id, and how many more."""
    created: float = 0.0
    """Of a watched pod: when it was created."""
    parent: str = ""
    """Of a watched pod: uid of the object it belongs to, where its labels say it. ``owner`` is the owner key.
    Of a pod of Muster: the label with its owner's uid, where that does not say what its owner reference says."""
    devices: Devices = ()
    """Of an observed pod: what it asks for. Of a pod of Muster the plan says it."""
    asks: str = ""
    """Of a watched pod: what its annotations ask of Muster, as JSON."""

    @property
    def live(self) -> bool:
        """Some container of it may still run, if only a sidecar."""
        return self.phase not in _ENDED

    @property
    def succeeded(self) -> bool:
        """The member is done: its main container has ended with 0, whatever runs or fails beside it.

        Not so a program that was asked to end and obeys with 0: its work is not done.
        """
        done = self.phase is _SUCCEEDED or (self.exit is not None and self.exit.code == 0)
        return done and not self.interrupted

    @property
    def interrupted(self) -> bool:
        """The main container ended after it was asked to. Times are whole seconds: the same second counts as after."""
        return self.exit is not None and 0.0 < self.stopped_at <= self.exit.finished_at

    @property
    def failed(self) -> bool:
        """The member ended with an error, or its pod failed before it had ended. Does not wait for the pod's phase."""
        return not self.succeeded and (self.phase is _FAILED or self.exit is not None)

    def same_content(self, newer: "Pod") -> bool:
        """Whether a newer record of the pod differs in no tracked field."""
        return msgspec.structs.replace(newer, resource_version=self.resource_version) == self
