"""The actions of a decision: a closed set, each safe to carry out twice.

The engine carries an action out only after the record that goes with it is persisted. The result returns as a fact of
the view (a pod appears, a launch is confirmed, a refusal), never as a return value to the decision.
"""

import msgspec

from muster.state.vocabulary.group import Member
from muster.state.vocabulary.pod import Pod, Port
from muster.state.vocabulary.workload import PodSetPlacement, Workload, WorkloadCondition


class ConfirmLaunch(msgspec.Struct, frozen=True):
    """Ask the live API before the first member of an epoch is created.

    One GET of the owner and one consistent LIST of its pods: a cache may be late, and a launch on late facts runs
    two epochs at once. The engine leaves out what a status write of the same step has shown already.

    With ``attempts`` (rank, attempt) the same is asked before these members run again in their epoch.
    """

    epoch: int
    attempts: tuple[tuple[int, int], ...] = ()
    vanished: tuple[Pod, ...] = ()
    """Vanished pods that may run: they are asked for by name. Those of other epochs and attempts prevent the launch."""
    search: bool = False
    """True if earlier vanished pods are unknown: the namespace is searched for the names of members."""


class ConfirmLoss(msgspec.Struct, frozen=True):
    """Ask the live API whether a pod of this epoch is really gone.

    A list that is merely late looks like a list that lacks a pod, and must not cost the gang a restart.
    """

    epoch: int
    ranks: tuple[int, ...] = ()
    """The ranks whose pods seem to be gone; empty: any of a gang whose members all run together."""
    attempts: tuple[tuple[int, int], ...] = ()
    """(rank, attempt) of the pods that seem to be gone: in place of ``ranks`` if members run again one by one."""
    vanished: tuple[Pod, ...] = ()
    """Pods of the epoch that vanished, as they were seen last."""


class ConfirmEnd(msgspec.Struct, frozen=True):
    """Ask the live API whether vanished pods have ended: what they hold is released only then."""

    epoch: int
    vanished: tuple[Pod, ...] = ()
    """Pods of every epoch that vanished, as they were seen last."""
    search: bool = False
    """True if earlier vanished pods are unknown: the namespace is searched for the names of members."""


class EnsureService(msgspec.Struct, frozen=True):
    """The headless Service that gives the members their names."""


class EnsureClaims(msgspec.Struct, frozen=True):
    """The PersistentVolumeClaims that the pods of that epoch share."""

    epoch: int


class CreatePods(msgspec.Struct, frozen=True):
    """Create these members' pods for that epoch. A pod that exists already is success."""

    epoch: int
    members: tuple[Member, ...]
    placement: tuple[PodSetPlacement, ...] = ()
    """Node selectors and tolerations of each group's pods, from the flavors of a queue."""
    attempts: tuple[tuple[int, int], ...] = ()
    """(rank, attempt) of the members whose attempt is not 0."""
    avoid: tuple[str, ...] = ()
    """Nodes that these pods are kept off."""


class DeletePods(msgspec.Struct, frozen=True):
    """Delete these pods (by name and uid), with that many seconds of grace; None: the pod's own."""

    pods: tuple[Pod, ...]
    grace: int | None
    why: str
    unless_ended: bool = False
    """Leave a pod that the live API shows to have ended: it is kept for its log."""


class StopPods(msgspec.Struct, frozen=True):
    """End the containers of these pods within their own grace, and keep the pods with their logs."""

    pods: tuple[Pod, ...]
    why: str


class DeleteSubject(msgspec.Struct, frozen=True):
    """Delete the object of the plan with all that it owns: it has finished, and its time is over."""


class EnsureWorkload(msgspec.Struct, frozen=True):
    """The Workload by which Kueue knows the experiment."""


class ReadAdmission(msgspec.Struct, frozen=True):
    """Ask the live API whether the Workload is admitted, and where its flavors put the pods of this epoch."""

    epoch: int
    workload: Workload


class PatchWorkloadStatus(msgspec.Struct, frozen=True):
    """Replace the conditions of the Workload, under the resourceVersion they were decided on."""

    workload: Workload
    conditions: tuple[WorkloadCondition, ...]
    release: bool = False
    """Give the quota back: remove the admission."""


class MoveWorkload(msgspec.Struct, frozen=True):
    """Put a Workload that holds no quota into another queue."""

    workload: Workload
    queue: str


class DeleteWorkload(msgspec.Struct, frozen=True):
    """Delete the Workload, by uid. It keeps its quota until it is released."""

    workload: Workload


class ReleaseWorkload(msgspec.Struct, frozen=True):
    """Remove Muster's finalizer from the Workload: no pod of the experiment runs now."""

    workload: Workload


class EndRun(msgspec.Struct, frozen=True):
    """Suspend or delete the object of a watched run: a deadline that its own annotation asks for has passed."""

    how: str
    """``suspend`` or ``delete``."""
    reason: str
    message: str
    pods: tuple[Pod, ...] = ()
    """The pods of a run without an object."""


QueueAction = EnsureWorkload | ReadAdmission | PatchWorkloadStatus | MoveWorkload | DeleteWorkload | ReleaseWorkload
"""Actions on the Workload of an experiment that has a queue."""
MemberAction = (
    ConfirmLaunch | ConfirmLoss | ConfirmEnd | EnsureService | EnsureClaims | CreatePods | DeletePods | StopPods
)
"""Actions on the members."""
Action = MemberAction | DeleteSubject | QueueAction | EndRun


class ProbeTarget(msgspec.Struct, frozen=True):
    """The coordinator to ask, by pod IP. A changed target is a new coordinator, about which nothing is known."""

    epoch: int
    uid: str
    address: str
    kind: str
    expected: int
    ports: tuple[Port, ...] = ()
    """Further ports of the coordinator, by name."""
    job: str = ""
    """Name under which the submitter hands the program to the coordinator, if the plan has a submitter."""
    submitter: int = -1
    """The submitter's rank: it has arrived once the coordinator knows that job."""
    token: str = ""
    """The token that the coordinator requires."""
    path: str = ""
    """The path of an HTTP probe."""
    suspects: tuple[str, ...] = ()
    """IPs of members that run and that the coordinator does not know. A probe that can do so asks them whether
    they belong to an earlier life of the coordinator."""
    ras: tuple[str, ...] = ()
    """Addresses ("ip:port") of members that answer for NCCL's RAS; empty if none does."""

    def same_coordinator(self, other: "ProbeTarget") -> bool:
        """Return True if the targets differ at most in the members that are asked besides the coordinator."""
        return msgspec.structs.replace(other, suspects=self.suspects, ras=self.ras) == self
