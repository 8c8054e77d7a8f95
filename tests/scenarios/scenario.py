"""A scenario: a gang, the incidents its members meet, what users do, and how it must end.

A scenario is one row in the ``SCENARIOS`` of a table beside this file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from tests.fakes.plans import experiment_path
from tests.scenarios.incidents import Incident
from tests.scenarios.operators import GANGS
from tests.scenarios.queue_actions import QueueAction

NAMESPACE = "team"
"""Where experiments are, unless their name is ``namespace/name``."""


@dataclass(frozen=True, slots=True)
class UserAction:
    """At ``second`` a user merges ``spec`` into the spec and ``annotations`` into the annotations, or deletes the
    Experiment (``delete``)."""

    second: float
    spec: Mapping[str, Any] = field(default_factory=dict)
    delete: bool = False
    experiment: str = "run"
    annotations: Mapping[str, str] = field(default_factory=dict)
    says: str = ""
    """What the status has next."""


@dataclass(frozen=True, slots=True)
class TakesName(UserAction):
    """A user creates a Service of the experiment's name."""


@dataclass(frozen=True, slots=True)
class SubmitsAgain(UserAction):
    """A user submits an Experiment of that name, which another one had before."""


@dataclass(frozen=True, slots=True)
class DeletesNamespace(UserAction):
    """A user deletes the namespace: nothing can be created in it any more, and everything in it is deleted in turn."""


@dataclass(frozen=True, slots=True)
class StopsServing(UserAction):
    """The CRD of the other kind is removed, and all its objects with it; with ``delete`` False the objects stay in
    etcd: their version is not served for a while."""


@dataclass(frozen=True, slots=True)
class Serves(UserAction):
    """The CRD is installed, or its version served again."""


@dataclass(frozen=True, slots=True)
class SubmitsOthers(UserAction):
    """A user submits an object of the other kind that another controller manages, with a status of that one's."""

    status: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AddsFinalizer(UserAction):
    """A user adds a finalizer to the pod of a rank (None: to the Experiment), and removes it at ``until``."""

    rank: int | None = None
    until: float = 60.0


@dataclass(frozen=True, slots=True)
class Forges(UserAction):
    """A user creates a pod that names the Experiment as its owner and carries labels like those of a member."""

    namespace: str = NAMESPACE
    name: str = "forged"
    labels: Mapping[str, str] = field(default_factory=dict)
    """In place of those of rank 0 in epoch 0."""
    status: Mapping[str, Any] = field(default_factory=dict)
    finalizer: bool = False


class Alteration(StrEnum):
    """What is done to the marks by which a pod is known as a member's."""

    UNLABELLED = "the label with the uid is removed"
    RELABELLED = "the label with the uid is rewritten"
    DISOWNED = "the ownerReference is removed"


@dataclass(frozen=True, slots=True)
class Alters(UserAction):
    """A user alters the pod of a rank, and undoes that at ``until`` (None: never)."""

    rank: int = 1
    how: Alteration = Alteration.UNLABELLED
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Asks(UserAction):
    """A user asks for the stacks of all ranks (``muster stacks``)."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """From ``start`` to ``end`` the API server refuses to create pods in a namespace, or is slow to.

    ``how`` is the text of an admission webhook that cannot be called (500), or denies (403), or ``timeout``: nothing is
    answered for ``seconds``. With ``slow`` the pod is created after ``seconds``, if the client waits for so long.
    """

    start: float
    end: float
    how: str
    seconds: float = 10.0
    namespace: str = NAMESPACE
    resource: str = "pods"
    """What cannot be created."""
    every: int = 1
    """Only every so many creates are refused."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """What keeps an experiment from going on, from the second ``since`` of the run without faults to ``until``."""

    reason: str
    """Of the condition Stuck; empty: only the message has it."""
    words: tuple[str, ...]
    """What status.message contains."""
    since: float
    within: float
    """Seconds within which Stuck is True with that reason; ``inf``: it may be, and need not."""
    until: float | None = None
    operators: tuple[str, ...] = tuple(GANGS)
    """The operators under which it is known."""


@dataclass(frozen=True, slots=True)
class End:
    """How one experiment must end. An empty phase: the Experiment no longer exists."""

    phase: str
    reason: str = ""
    epoch: int = 0
    restarts: int = 0
    disruptions: int = 0
    cause: tuple[str, int | None] | None = None
    """Reason and rank of the last cause; None: there is no cause."""
    clock: float | None = None
    """Seconds from the timestamp ``since`` to the end, where a clock ends the experiment."""
    since: str = "startTime"
    other_ends: int = 0
    """Epochs that end for another reason than a failure or a disruption: a suspension, a clock."""
    own: Mapping[str, Any] = field(default_factory=dict)
    """Of an object of another kind: fields of its own status at the end. ``conditions`` are ``type/reason``, in
    brackets where they do not hold."""

    def charged(self, size: int) -> dict[str, Any]:
        """What ``charged_in`` finds in the status of a gang of that size."""
        rank = self.cause[1] if self.cause else None
        cause = (self.cause[0], rank % size if rank is not None else None) if self.cause else None
        counts = {"epoch": self.epoch, "restarts": self.restarts, "disruptions": self.disruptions}
        return {"phase": self.phase, "reason": self.reason, **counts, "cause": cause}


SUCCEEDED = End("Succeeded", "AllMembersSucceeded")


def succeeded(**fields: Any) -> End:
    """All members succeed, and these fields of the end are others."""
    return replace(SUCCEEDED, **fields)


def restarted(times: int = 1, *, rank: int = -1, **fields: Any) -> End:
    """It succeeds after so many restarts of the budget, each for an error of that rank."""
    return succeeded(epoch=times, restarts=times, cause=("Error", rank), **fields)


def disrupted(reason: str, *, times: int = 1, rank: int = -1, **fields: Any) -> End:
    """It succeeds after so many restarts that cost nothing: that rank was taken away for that reason."""
    return succeeded(epoch=times, disruptions=times, cause=(reason, rank), **fields)


def charged_in(status: Mapping[str, Any]) -> dict[str, Any]:
    """How it ended, of a status: phase, reason, what was counted, and reason and rank of the last cause."""
    cause = status.get("cause")
    found = {key: status.get(key) for key in ("phase", "reason", "epoch", "restarts", "disruptions")}
    return {**found, "cause": (cause.get("reason"), cause.get("rank")) if cause else None}


@dataclass(frozen=True, slots=True)
class Scenario:
    """See the module's docstring."""

    name: str
    end: End
    sizes: tuple[int, ...] = (4,)
    operators: tuple[str, ...] = tuple(GANGS)
    """The operators under which the scenario makes sense."""
    spec: Mapping[str, Any] = field(default_factory=dict)
    incidents: tuple[Incident, ...] = ()
    user_actions: tuple[UserAction, ...] = ()
    run: float = 20.0
    """Seconds from an assembled gang to its success."""
    reports: float = 0.0
    """Seconds of a step that the programs report (``muster.jax.report``); 0: they report none."""
    sends: bool = False
    """Rank 0 sends them to the daemon that leads, every five seconds, as transformers does; nothing is in a store."""
    collectives: float = 0.0
    """Seconds between two collectives of the gang, whose processes have ``spec.assist``: those of PyTorch publish how
    long they wait in them, those of jax where their programs are; 0: they publish nothing."""
    watched: int = 0
    """Members of a gang of jax beside it that no experiment owns (``gang`` in incidents); 0: there is none."""
    survivors: str = "abort"
    """What members do when another one is gone: ``abort`` (within milliseconds) or ``hang``. Where the members of an
    operator do not meet, they go on."""
    ignores_sigterm: bool = False
    """Programs ignore SIGTERM and end only with the grace period."""
    core: bool = False
    """All kinds of faults are played with every operator and size; and pairs of crashes, with the first of each."""
    settle_within: float = 60.0
    """Seconds from the last event in the world to the daemon's last write: longer where a clock still runs."""
    like: str = ""
    """A scenario whose course ``run`` must have, whatever happens in other namespaces."""
    families: tuple[str, ...] = ()
    """The families of faults that are played, where others would rightly change the end; empty: all of them."""
    most_writes: int | None = None
    """Status writes, and Events, of ``run`` within ten minutes."""
    refusals: tuple[Refusal, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    """When ``run`` must be Stuck; at no other time may it be."""
    quota: float = 0.0
    """CPUs of the queue that all experiments are in; 0: there is no queue."""
    queue: tuple[QueueAction, ...] = ()
    others: Mapping[str, End] = field(default_factory=dict)
    """Further experiments (``name``, or ``namespace/name``) that run beside ``run``, and how they end."""
    says: tuple[str, ...] = ()
    """What the status of ``run`` has, one after another: regular expressions for phase, reason and message. ``SIZE``
    is the number of members, ``LAST`` the last rank. A scenario that states them is played by ``tests.real``, too."""

    @property
    def ends(self) -> dict[str, End]:
        """How each experiment must end, by name."""
        return {"run": self.end, **self.others}

    def sentences(self, size: int) -> list[str]:
        """What the status of ``run`` has for a gang of that size: after what users do, and then by itself."""
        return [worded(each, size) for each in (*(one.says for one in self.user_actions if one.says), *self.says)]


def worded(says: str, size: int) -> str:
    """The regular expression for a gang of that size."""
    return says.replace("SIZE", str(size)).replace("LAST", str(size - 1))


def path_of(name: str) -> str:
    """The path of the Experiment that a scenario calls by that name."""
    namespace, _, own = name.rpartition("/")
    return experiment_path(namespace or NAMESPACE, own)


def name_of(namespace: str, name: str) -> str:
    """The name by which a scenario calls that Experiment."""
    return name if namespace == NAMESPACE else f"{namespace}/{name}"
