"""What happens to members, in each epoch that an incident names.

Ranks may be counted from the end (-1 is the last). An incident happens once per epoch in its ``epochs``, ``after``
seconds from the instant the gang is assembled (``start=True``: from the start of the member's program).
"""

from dataclasses import dataclass
from math import inf

EVERY_EPOCH = range(1_000_000)
"""Every epoch."""


@dataclass(frozen=True, slots=True)
class Fails:
    """A member's program exits with an error."""

    rank: int = -1
    epochs: range = range(1)
    attempts: range = range(1)
    after: float = 10.0
    code: int = 1
    start: bool = False
    experiment: str = "run"
    says: str = ""
    """The end of its log; ``EPOCH`` in it stands for the number of the epoch."""


@dataclass(frozen=True, slots=True)
class Preempted:
    """The scheduler preempts a member."""

    rank: int = -1
    epochs: range = range(1)
    after: float = 10.0
    experiment: str = "run"


@dataclass(frozen=True, slots=True)
class NodeLost:
    """A node loses power. Its pods are evicted, stay Terminating, and are removed later, if ever."""

    rank: int = -1
    epochs: range = range(1)
    after: float = 10.0
    evicted: float = 30.0
    collected: float | None = 40.0
    experiment: str = "run"


@dataclass(frozen=True, slots=True)
class NodeBoots:
    """A node loses power and is back at once. Its containers are gone: the runtime does not know how they ended."""

    rank: int = -1
    epochs: range = range(1)
    after: float = 10.0
    back: float = 20.0
    experiment: str = "run"


@dataclass(frozen=True, slots=True)
class NeverArrives:
    """A member's program runs and never registers with the coordinator (the coordinator: never serves)."""

    rank: int = -1
    epochs: range = EVERY_EPOCH
    experiment: str = "run"


@dataclass(frozen=True, slots=True)
class Unschedulable:
    """No node fits a member."""

    rank: int = -1
    epochs: range = EVERY_EPOCH
    experiment: str = "run"


@dataclass(frozen=True, slots=True)
class SlowImage:
    """A member's image is pulled slowly."""

    rank: int = -1
    seconds: float = 40.0
    epochs: range = EVERY_EPOCH
    experiment: str = "run"


@dataclass(frozen=True, slots=True)
class Ends:
    """A member's program exits with 0 before the others do."""

    rank: int = -1
    epochs: range = EVERY_EPOCH
    attempts: range = EVERY_EPOCH
    after: float = 5.0
    experiment: str = "run"


@dataclass(frozen=True, slots=True)
class Collected:
    """The pod of a member that has succeeded is removed, ``after`` seconds after its end: by pod garbage collection, or
    with its node."""

    rank: int = -1
    epochs: range = EVERY_EPOCH
    after: float = 3.0
    experiment: str = "run"


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A webhook has injected a container, which ends with ``code`` some seconds after ``main`` (None: it runs on)."""

    rank: int = -1
    ends: float | None = None
    code: int = 0
    epochs: range = EVERY_EPOCH
    experiment: str = "run"


@dataclass(frozen=True, slots=True)
class Gated:
    """A scheduling gate keeps a pod from being scheduled for that long, as a queue does."""

    rank: int = -1
    seconds: float = 120.0
    epochs: range = EVERY_EPOCH
    experiment: str = "run"


@dataclass(frozen=True, slots=True)
class Unkillable:
    """A member's process does not end when it is killed (it waits for a device), but ``seconds`` later."""

    rank: int = -1
    seconds: float = 200.0
    epochs: range = EVERY_EPOCH
    experiment: str = "run"


@dataclass(frozen=True, slots=True)
class CoordinatorFlaps:
    """The coordinator of an assembled gang answers and does not answer probes in turn, ``every`` so many seconds."""

    every: float
    rank: int = 0
    seconds: float = 600.0
    epochs: range = EVERY_EPOCH
    experiment: str = "run"


@dataclass(frozen=True, slots=True)
class ReadinessFlaps:
    """The pod of a member of an assembled gang is ready and not ready in turn, ``every`` so many seconds."""

    every: float
    rank: int = -1
    seconds: float = 600.0
    epochs: range = EVERY_EPOCH
    experiment: str = "run"


@dataclass(frozen=True, slots=True)
class Pauses:
    """A program that reports steps makes none for ``seconds``, ``after`` so many seconds of steps. It announces that
    (``muster.jax.pause``), or not. With ``inf`` seconds it hangs."""

    after: float
    seconds: float
    announced: bool = False
    rank: int = -1
    """The member that all others wait for."""
    epochs: range = EVERY_EPOCH
    experiment: str = "run"


@dataclass(frozen=True, slots=True)
class Slow:
    """A member comes to each collective ``behind`` so many seconds later than the others, from ``after`` so many
    seconds of work on, for ``seconds``."""

    behind: float
    after: float = 0.0
    seconds: float = inf
    rank: int = -1
    epochs: range = EVERY_EPOCH
    experiment: str = "run"


@dataclass(frozen=True, slots=True)
class Evaluates:
    """A member computes for ``seconds``, once, before it enters a collective: the first one ``after`` so many seconds
    of work. The others wait in it."""

    after: float
    seconds: float
    rank: int = -1
    epochs: range = EVERY_EPOCH
    experiment: str = "run"


@dataclass(frozen=True, slots=True)
class ContainerWaits:
    """The kubelet cannot start a member's container for that long, and says why."""

    rank: int = -1
    reason: str = "ImagePullBackOff"
    message: str = 'Back-off pulling image "demo"'
    seconds: float = 120.0
    epochs: range = EVERY_EPOCH
    experiment: str = "run"


Incident = (
    Fails
    | Preempted
    | NodeLost
    | NodeBoots
    | NeverArrives
    | Unschedulable
    | SlowImage
    | Ends
    | Collected
    | Sidecar
    | Gated
    | CoordinatorFlaps
    | ReadinessFlaps
    | Unkillable
    | ContainerWaits
    | Pauses
    | Slow
    | Evaluates
)
