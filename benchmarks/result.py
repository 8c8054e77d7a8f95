"""One measured figure, beside what it may be at most and what somebody else's tool needs for the same work."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Result:
    """``ok`` says whether ``value`` keeps the ``budget`` (True without one). ``peer`` was measured in the same run."""

    name: str
    value: float
    unit: str
    budget: float | None
    ok: bool
    peer: str
    peer_value: float | None
