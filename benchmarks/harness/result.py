"""One measured figure, its budget, and the figure of another tool for the same work."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a measurement. ``peer`` was measured in the same run."""

    name: str
    value: float
    unit: str
    budget: float | None = None
    peer: str = ""
    peer_value: float | None = None

    @property
    def ok(self) -> bool:
        """Return True if the value keeps any budget."""
        return self.budget is None or self.value <= self.budget
