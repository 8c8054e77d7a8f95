"""Why an experiment is as it is.

What it waits for, what ended its last life, what happened, and how each member stands.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from muster.client.member import Member
from muster.client.snapshot import Snapshot
from muster.kube.unstructured import Json, mapping, moment, text, whole


@dataclass(frozen=True, slots=True)
class Happening:
    """A Kubernetes Event about the experiment. ``at`` is the last time it was seen, in wall seconds."""

    at: float | None
    type: str
    reason: str
    message: str
    count: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that is known. ``members`` holds the latest epoch's, by rank; ``events`` is oldest first and may be empty."""

    experiment: Snapshot
    members: tuple[Member, ...]
    events: tuple[Happening, ...]

    @property
    def waits_for(self) -> str:
        """What it waits for, in a sentence; empty where it waits for nothing: it has finished, or it is at work."""
        if self.experiment.finished or (self.experiment.phase == "Running" and not self.experiment.holds("Stuck")):
            return ""
        if not self.experiment.phase:
            return "musterd to notice it: is the daemon running on this cluster?"
        return self.experiment.message or self.experiment.reason or self.experiment.phase


def happening_of(event: Json) -> Happening:
    """What an Event object (core/v1) says."""
    series = mapping(event.get("series"))
    times = (
        series.get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        event.get("firstTimestamp"),
    )
    return Happening(
        at=next((at for value in times if (at := moment(value)) is not None), None),
        type=text(event, "type"),
        reason=text(event, "reason"),
        message=text(event, "message"),
        count=whole(series, "count") or whole(event, "count", 1),
    )


def in_order(found: Iterable[Happening]) -> tuple[Happening, ...]:
    """Oldest first; those that do not say when come first."""
    return tuple(sorted(found, key=lambda happening: happening.at or 0.0))
