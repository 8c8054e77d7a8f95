"""What happens to members, in each epoch that an incident names.

Ranks may be counted from the end (-1 is the last). An incident happens once per epoch in its ``epochs``, ``after``
seconds from the instant the gang is assembled (``start=True``: from the start of the member's program).
"""

from dataclasses import dataclass
from math import inf

from tests.fakes.launchers import TAIL, WARNING, Launcher, Printed, shell

EVERY_EPOCH = range(1_000_000)
"""Every epoch."""


OLDER = "1970-01-12 13:46:42,003 INFO loading the model\n" + WARNING
"""What a member has printed before its gang was assembled."""
RAISED = """Traceback (most recent call last):
  File "/app/train.py", line {line}, in next
    batch = next(loader)
            ^^^^^^^^^^^^
{raises}
"""
LOST_PEER = "RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.1]:1234"


@dataclass(frozen=True, slots=True)
class Child:
    """How the process ends that is the first to fail, of those that a launcher has started."""

    raises: str = ""
    """Its exception; ``EPOCH`` in it is replaced by the number of the epoch."""
    line: int = 41
    code: int = 1
    """Its exit code; of a signal the negative number."""
    launcher: Launcher | None = None

    def printed(self, epoch: int) -> Printed:
        """The end of the container's log, as a kubelet keeps it, and its exit code."""
        said = RAISED.format(line=self.line, raises=self.raised(epoch)) if self.raises else ""
        log, code = (self.launcher or (lambda text, code: (text, shell(code))))(said, self.code)
        return (OLDER + log)[-TAIL:], code

    def raised(self, epoch: int) -> str:
        """Its exception in that epoch."""
        return self.raises.replace("EPOCH", str(epoch))


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """Happens to the member of that rank, in those epochs, attempts and lives of its container."""

    rank: int = -1
    epochs: range = EVERY_EPOCH
    attempts: range = range(1)
    lives: range = EVERY_EPOCH
    """The kubelet starts a container again in its pod, where the pod asks for that."""
    experiment: str = "run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fails(Incident):
    """A member's program exits with an error."""

    epochs: range = range(1)
    after: float = 10.0
    code: int = 1
    start: bool = False
    says: str = ""
    """The end of its log; ``EPOCH`` in it is replaced by the number of the epoch."""
    child: Child | None = None
    """What ends so, in place of ``code`` and ``says``; the other members have the same launcher."""
    reason: str = "Error"
    """The kubelet's word for it."""
    lives: range = range(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preempted(Incident):
    """The scheduler preempts a member."""

    epochs: range = range(1)
    after: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLost(Incident):
    """A node loses power. Its pods are evicted, stay Terminating, and are removed later, if ever."""

    epochs: range = range(1)
    after: float = 10.0
    evicted: float = 30.0
    collected: float | None = 40.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeBoots(Incident):
    """A node loses power and is back at once. Its containers are gone: the runtime does not know how they ended."""

    epochs: range = range(1)
    after: float = 10.0
    back: float = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NeverArrives(Incident):
    """A member's program runs and never registers with the coordinator (the coordinator: never serves)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unschedulable(Incident):
    """No node fits a member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowImage(Incident):
    """A member's image is pulled slowly."""

    seconds: float = 40.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends(Incident):
    """A member's program exits with 0 before the others do."""

    attempts: range = EVERY_EPOCH
    after: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected(Incident):
    """The pod of a member that has succeeded is removed, ``after`` seconds after its end: by pod garbage collection, or
    with its node."""

    after: float = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar(Incident):
    """A webhook has injected a container, which ends with ``code`` some seconds after ``main`` (None: it runs on)."""

    ends: float | None = None
    code: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated(Incident):
    """A scheduling gate keeps a pod from being scheduled for that long, as a queue does."""

    seconds: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unkillable(Incident):
    """A member's process does not end when it is killed (it waits for a device), but ``seconds`` later."""

    seconds: float = 200.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorFlaps(Incident):
    """The coordinator of an assembled gang answers and does not answer probes in turn, ``every`` so many seconds."""

    every: float
    rank: int = 0
    seconds: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadinessFlaps(Incident):
    """The pod of a member of an assembled gang is ready and not ready in turn, ``every`` so many seconds."""

    every: float
    seconds: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pauses(Incident):
    """A program that reports steps makes none for ``seconds``, ``after`` so many seconds of steps, and all others wait
    for it. It announces that (``muster.jax.pause``), or not. With ``inf`` seconds it hangs. ``together``: all pause
    after the same step, as in a checkpoint that all save."""

    after: float
    seconds: float
    announced: bool = False
    together: bool = False

    @property
    def computes(self) -> bool:
        """It waits for a lock meanwhile."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow(Incident):
    """A member comes to each collective ``behind`` so many seconds later than the others, from ``after`` so many
    seconds of work on, for ``seconds``."""

    behind: float
    after: float = 0.0
    seconds: float = inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluates(Incident):
    """A member computes for ``seconds``, or writes, once, before it enters a collective: the first one ``after`` so
    many seconds of work. The others wait in it."""

    after: float
    seconds: float
    writes: bool = False

    @property
    def computes(self) -> bool:
        """It uses CPU meanwhile; one that writes waits for a disk."""
        return not self.writes


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerWaits(Incident):
    """The kubelet cannot start a member's container for that long, and reports why."""

    reason: str = "ImagePullBackOff"
    message: str = 'Back-off pulling image "demo"'
    seconds: float = 120.0
