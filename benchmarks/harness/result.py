"""One measured figure, its budget, and the figure of another tool for the same work."""

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a measurement. ``ok``: ``value`` keeps any ``budget``. ``peer`` was measured in the same run."""

    name: str
    value: float
    unit: str
    budget: float | None
    ok: bool
    peer: str
    peer_value: float | None

    @classmethod
    def of(
        cls,
        name: str,
        value: float,
        unit: str,
        budget: float | None = None,
        peer: str = "",
        peer_value: float | None = None,
    ) -> Self:
        """Return a figure compared with its budget."""
        return cls(name, value, unit, budget, budget is None or value <= budget, peer, peer_value)
