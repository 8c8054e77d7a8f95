"""A scenario: a gang, the incidents its members meet, what users do, and how it must end.

A scenario is one row in the ``SCENARIOS`` of a table beside this file. Ranks may be counted from the end (-1 is the
last). An incident happens once per epoch in its ``epochs``, ``after`` seconds from the instant the gang is assembled
(``start=True``: from the start of the member's program).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

EVER = range(1_000_000)
"""Every epoch."""


@dataclass(frozen=True, slots=True)
class Dies:
    """A member's program ends with an error."""

    rank: int = -1
    epochs: range = range(1)
    after: float = 10.0
    code: int = 1
    start: bool = False
    experiment: str = "run"


@dataclass(frozen=True, slots=True)
class Preempted:
    """The scheduler takes a member's place for somebody more important."""

    rank: int = -1
    epochs: range = range(1)
    after: float = 10.0
    experiment: str = "run"


@dataclass(frozen=True, slots=True)
class NodeLost:
    """A node loses its power. Its pods are evicted, stay Terminating, and go when the garbage is collected, if ever."""

    rank: int = -1
    epochs: range = range(1)
    after: float = 10.0
    evicted: float = 30.0
    collected: float | None = 40.0
    experiment: str = "run"


@dataclass(frozen=True, slots=True)
class Absent:
    """A member's program runs and never calls the coordinator (the coordinator: never serves)."""

    rank: int = -1
    epochs: range = EVER
    experiment: str = "run"


@dataclass(frozen=True, slots=True)
class Unschedulable:
    """There is no node for a member."""

    rank: int = -1
    epochs: range = EVER
    experiment: str = "run"


@dataclass(frozen=True, slots=True)
class SlowImage:
    """A member's image takes long to come."""

    rank: int = -1
    seconds: float = 40.0
    epochs: range = EVER
    experiment: str = "run"


Befalls = Dies | Preempted | NodeLost | Absent | Unschedulable | SlowImage


@dataclass(frozen=True, slots=True)
class At:
    """Somebody changes the spec (``spec`` is merged into it), or deletes the Experiment (``delete``), at a second."""

    second: float
    spec: Mapping[str, Any] = field(default_factory=dict)
    delete: bool = False
    experiment: str = "run"


@dataclass(frozen=True, slots=True)
class End:
    """How one experiment must end. An empty phase: it is gone."""

    phase: str
    reason: str = ""
    epoch: int = 0
    restarts: int = 0
    disruptions: int = 0
    cause: tuple[str, int | None] | None = None
    """Reason and rank of the last cause; None: there is none."""
    clock: float | None = None
    """Seconds from the start of the clock (``since``) to the end it brings about."""
    since: str = "startTime"
    free: int = 0
    """Epochs that end for another reason than a failure or a disruption: a suspension, a clock."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """See the module's docstring."""

    name: str
    end: End
    sizes: tuple[int, ...] = (1, 4, 16)
    spec: Mapping[str, Any] = field(default_factory=dict)
    befalls: tuple[Befalls, ...] = ()
    people: tuple[At, ...] = ()
    run: float = 20.0
    """Seconds from a complete gang to its success."""
    survivors: str = "abort"
    """What members do when one of them is gone: ``abort`` (exit code 134 within milliseconds) or ``hang``."""
    deaf: bool = False
    """SIGTERM is swallowed: only the end of the grace period ends a program."""
    core: bool = False
    """Pairs of crashes, and every stale list after every write, are tried."""
    patience: float = 60.0
    """Seconds from the last thing that happens in the world to the daemon's last write: longer where a clock runs."""
    others: Mapping[str, End] = field(default_factory=dict)
    """Further experiments, beside ``run``, and how they end."""

    @property
    def ends(self) -> dict[str, End]:
        """All experiments and their ends."""
        return {"run": self.end, **self.others}
