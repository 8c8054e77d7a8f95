"""The coordinator of a plan: the member at which the others meet, and how it is asked who has arrived."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from muster.state.vocabulary.pod_spec import Port

DASHBOARD: Final = "dashboard"
"""Name of the port at which a coordinator shows its web page."""
AGENT: Final = "agent"
"""Name of the port at which a coordinator reports the health of its own node."""


class ProbeKind(StrEnum):
    """How the coordinator is asked who has arrived."""

    NONE = "none"
    JAX = "jax"
    RAY = "ray"
    TORCH = "torch"
    TCP = "tcp"
    HTTP = "http"
    GRPC = "grpc"

    @property
    def stated(self) -> bool:
        """It says of the coordinator that it serves, and of no member that it has arrived."""
        return self in (ProbeKind.TCP, ProbeKind.HTTP, ProbeKind.GRPC)

    @property
    def passive(self) -> bool:
        """The probe does not say who has arrived: readiness of the pods must do."""
        return self is ProbeKind.NONE


class Completeness(StrEnum):
    """When the roll of a coordinator is complete."""

    PASSED = "passed"
    """The rendezvous has passed: the coordinator lets all members through together (JAX)."""
    ARRIVED = "arrived"
    """Every member has arrived: members go on one by one."""


@dataclass(frozen=True, slots=True)
class Coordinator:
    """The member the others meet at, and how patient Muster is with it."""

    rank: int
    port: int
    probe: ProbeKind
    quiet: float = 6.0
    """Seconds without a change of the roll, or without an answer, after which the gang is called stuck."""
    first_serve: float = 240.0
    """Seconds the coordinator's program may run before its port opens (imports, data, compilation caches): less than
    the 300 s for which JAX's other members wait for it."""
    complete: Completeness = Completeness.PASSED
    arrivals: float | None = None
    """Seconds without an arrival after which missing ranks count as stuck; None: ``quiet``."""
    ports: tuple[Port, ...] = ()
    """Further ports of the coordinator, which its probe asks: ``dashboard`` is that of its web page."""
    path: str = ""
    """What an HTTP probe asks for."""
    token: str = field(default="", repr=False)
    """What its probe must show; empty: nothing."""
    opened_by: str = ""
    """What a program does to open the port, for people whose gang waits for it."""
    may_close: bool = False
    """Its port may close before its program ends: once the rendezvous has passed, a refused port is no alarm."""

    @property
    def opening(self) -> str:
        """``; rank 0 opens it in ...``, to end a sentence with; empty where the operator says nothing."""
        return f"; {self.opened_by}" if self.opened_by else ""
