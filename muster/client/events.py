"""Kubernetes Events as people read them."""

from collections.abc import Iterable
from dataclasses import dataclass

from muster.kube.unstructured import Json, mapping, moment, text, whole


@dataclass(frozen=True, slots=True)
class EventSummary:
    """A Kubernetes Event about the experiment. ``at`` is the last time it occurred, in wall seconds."""

    at: float | None
    type: str
    reason: str
    message: str
    count: int
    source: str = ""
    """The component that recorded it: ``muster``."""


def event_summary(event: Json) -> EventSummary:
    """The summary of an Event object (core/v1)."""
    series = mapping(event.get("series"))
    times = (
        series.get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        event.get("firstTimestamp"),
    )
    return EventSummary(
        at=next((at for value in times if (at := moment(value)) is not None), None),
        type=text(event, "type"),
        reason=text(event, "reason"),
        message=text(event, "message"),
        count=whole(series, "count") or whole(event, "count", 1),
        source=text(mapping(event.get("source")), "component") or text(event, "reportingComponent"),
    )


def oldest_first(found: Iterable[EventSummary]) -> tuple[EventSummary, ...]:
    """Oldest first; Events without a time come first."""
    return tuple(sorted(found, key=lambda event: event.at or 0.0))
