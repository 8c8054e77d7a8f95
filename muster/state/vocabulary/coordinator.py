"""The coordinator of a plan: the member at which the others meet, and the probe for who has arrived."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from muster.state.vocabulary.pod_spec import Port

DASHBOARD: Final = "dashboard"
"""Name of the port at which a coordinator shows its web page."""
AGENT: Final = "agent"
"""Name of the port at which a coordinator reports the health of its own node."""


class ProbeKind(StrEnum):
    """The probe that asks the coordinator who has arrived."""

    NONE = "none"
    JAX = "jax"
    RAY = "ray"
    TORCH = "torch"
    TCP = "tcp"
    HTTP = "http"
    GRPC = "grpc"

    @property
    def stated(self) -> bool:
        """Return True if the probe shows that the coordinator serves, and of no member that it has arrived."""
        return self in (ProbeKind.TCP, ProbeKind.HTTP, ProbeKind.GRPC)

    @property
    def passive(self) -> bool:
        """Return True if the probe does not show who has arrived: the pods' readiness counts."""
        return self is ProbeKind.NONE


class Completeness(StrEnum):
    """The condition for a complete roll of a coordinator."""

    PASSED = "passed"
    """The rendezvous has passed: the coordinator lets all members through together (JAX)."""
    ARRIVED = "arrived"
    """Every member has arrived: members continue one by one."""


@dataclass(frozen=True, slots=True)
class Coordinator:
    """The member at which the others meet, and Muster's patience with it."""

    rank: int
    port: int
    probe: ProbeKind
    quiet: float = 6.0
    """Seconds without a change of the roll, or without an answer, after which the gang counts as stuck."""
    first_serve: float = 240.0
    """Seconds the coordinator's program may run before its port opens (imports, data, compilation caches): less than
    the 300 s for which JAX's other members wait for it."""
    complete: Completeness = Completeness.PASSED
    arrivals: float | None = None
    """Seconds without an arrival after which missing ranks count as stuck; None: ``quiet``."""
    ports: tuple[Port, ...] = ()
    """Further ports of the coordinator for its probe: ``dashboard`` is that of its web page."""
    path: str = ""
    """The path of an HTTP probe."""
    token: str = field(default="", repr=False)
    """The token that the probe must show; empty: none."""
    opened_by: str = ""
    """The way in which a program opens the port, for people whose gang waits for it."""
    may_close: bool = False
    """True if the port may close before the program ends: after the rendezvous a refused port is no alarm."""

    @property
    def opening(self) -> str:
        """Return ``; rank 0 opens it in ...``, as the end of a sentence; empty if the operator has no such text."""
        return f"; {self.opened_by}" if self.opened_by else ""
