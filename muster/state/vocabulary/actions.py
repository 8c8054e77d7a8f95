"""The actions of a decision: a closed set, each safe to carry out twice.

The engine carries an action out only after the record that goes with it is persisted. The result returns as a fact of
the view (a pod appears, a launch is confirmed, a refusal), never as a return value to the decision.
"""

from dataclasses import dataclass

import msgspec

from muster.state.vocabulary.group import Member
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.pod_spec import Port
from muster.state.vocabulary.workload import PodSetPlacement, Workload, WorkloadCondition


@dataclass(frozen=True, slots=True)
class ConfirmLaunch:
    """Ask the live API before the first member of an epoch is created.

    One GET of the owner and one consistent LIST of its pods: a cache may be late, and a launch on late facts runs
    two epochs at once. The engine leaves out what a status write of the same step has shown already.

    With ``attempts`` (rank, attempt) it is asked in the same way before these members run again in their epoch.
    """

    epoch: int
    attempts: tuple[tuple[int, int], ...] = ()
    vanished: tuple[Pod, ...] = ()
    """Pods that vanished, and may run: they are asked for by name. Those of other epochs and attempts prevent it."""
    search: bool = False
    """What vanished before is not known: the namespace is searched for the names of members."""


@dataclass(frozen=True, slots=True)
class ConfirmLoss:
    """Ask the live API whether a pod of this epoch is really gone.

    A list that is merely late looks like a list that lacks a pod, and must not cost the gang a restart.
    """

    epoch: int
    ranks: tuple[int, ...] = ()
    """The ranks whose pods seem to be gone; empty: any of a gang whose members all run together."""
    attempts: tuple[tuple[int, int], ...] = ()
    """Instead of ``ranks``, where members run again one by one: (rank, attempt) of the pods that seem to be gone."""
    vanished: tuple[Pod, ...] = ()
    """Pods of the epoch that vanished, as they were seen last."""


@dataclass(frozen=True, slots=True)
class ConfirmEnd:
    """Ask the live API whether pods that vanished have ended: what they hold is given back only then."""

    epoch: int
    vanished: tuple[Pod, ...] = ()
    """Pods of every epoch that vanished, as they were seen last."""
    search: bool = False
    """What vanished before is not known: the namespace is searched for the names of members."""


@dataclass(frozen=True, slots=True)
class EnsureService:
    """The headless Service that gives the members their names."""


@dataclass(frozen=True, slots=True)
class EnsureClaims:
    """The PersistentVolumeClaims that the pods of that epoch share."""

    epoch: int


@dataclass(frozen=True, slots=True)
class CreatePods:
    """Create these members' pods for that epoch. A pod that is there already is success."""

    epoch: int
    members: tuple[Member, ...]
    placement: tuple[PodSetPlacement, ...] = ()
    """What the flavors of a queue ask of the pods of each group."""
    attempts: tuple[tuple[int, int], ...] = ()
    """(rank, attempt) of those whose attempt is not 0."""
    avoid: tuple[str, ...] = ()
    """Nodes that these pods are kept off."""


@dataclass(frozen=True, slots=True)
class DeletePods:
    """Delete these pods (by name and uid), with that many seconds of grace; None: the pod's own."""

    pods: tuple[Pod, ...]
    grace: int | None
    why: str
    unless_ended: bool = False
    """Leave a pod that the live API shows to have ended: it is kept for its log."""


@dataclass(frozen=True, slots=True)
class StopPods:
    """End the containers of these pods within their own grace, and keep the pods with their logs."""

    pods: tuple[Pod, ...]
    why: str


@dataclass(frozen=True, slots=True)
class DeleteSubject:
    """Delete the object of the plan: it has finished, and its time is over. What it owns goes with it."""


@dataclass(frozen=True, slots=True)
class EnsureWorkload:
    """The Workload by which Kueue knows the experiment."""


@dataclass(frozen=True, slots=True)
class ReadAdmission:
    """Ask the live API whether the Workload is admitted, and where its flavors put the pods of this epoch."""

    epoch: int
    workload: Workload


@dataclass(frozen=True, slots=True)
class PatchWorkloadStatus:
    """Replace the conditions of the Workload, under the resourceVersion they were decided on."""

    workload: Workload
    conditions: tuple[WorkloadCondition, ...]
    release: bool = False
    """Give the quota back: remove the admission."""


@dataclass(frozen=True, slots=True)
class MoveWorkload:
    """Put a Workload that holds no quota into another queue."""

    workload: Workload
    queue: str


@dataclass(frozen=True, slots=True)
class DeleteWorkload:
    """Delete the Workload, by uid. It keeps its quota until it is released."""

    workload: Workload


@dataclass(frozen=True, slots=True)
class ReleaseWorkload:
    """Remove Muster's finalizer from the Workload: no pod of the experiment runs any more."""

    workload: Workload


@dataclass(frozen=True, slots=True)
class EndRun:
    """Suspend or delete the object of a watched run: a deadline that its own annotation asks for has passed."""

    how: str
    """``suspend`` or ``delete``."""
    reason: str
    message: str
    pods: tuple[Pod, ...] = ()
    """The pods of a run without an object."""


QueueAction = EnsureWorkload | ReadAdmission | PatchWorkloadStatus | MoveWorkload | DeleteWorkload | ReleaseWorkload
"""What follows for the Workload of an experiment that has a queue."""
MemberAction = (
    ConfirmLaunch | ConfirmLoss | ConfirmEnd | EnsureService | EnsureClaims | CreatePods | DeletePods | StopPods
)
"""What follows for the members."""
Action = MemberAction | DeleteSubject | QueueAction | EndRun


class ProbeTarget(msgspec.Struct, frozen=True):
    """The coordinator to ask, by pod IP. A changed target is a new coordinator, of which nothing is known yet."""

    epoch: int
    uid: str
    address: str
    kind: str
    expected: int
    ports: tuple[Port, ...] = ()
    """Further ports of the coordinator, by name."""
    job: str = ""
    """Name under which the submitter hands the program to the coordinator, where the plan has a submitter."""
    submitter: int = -1
    """The submitter's rank: it has arrived once the coordinator knows that job."""
    token: str = ""
    """What the coordinator wants to be shown."""
    path: str = ""
    """What an HTTP probe asks for."""
    suspects: tuple[str, ...] = ()
    """IPs of members whose processes run and which the coordinator does not know: a probe that can asks them whether
    they belong to an earlier life of it."""
    ras: tuple[str, ...] = ()
    """Addresses ("ip:port") at which members can be asked for NCCL's RAS; empty where none can."""

    def same_coordinator(self, other: "ProbeTarget") -> bool:
        """Whether the other target differs in nothing but the members that are asked besides."""
        return msgspec.structs.replace(other, suspects=self.suspects, ras=self.ras) == self
