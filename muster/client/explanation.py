"""What an experiment waits for, with its members and its Events."""

from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from muster.api.errors import Forbidden
from muster.client.logs.last_lines import LastLine
from muster.client.member import Member
from muster.client.snapshot import Snapshot
from muster.kube.paths import core
from muster.kube.resources import ResourceClient
from muster.kube.unstructured import Json, mapping, moment, text, whole

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EventSummary:
    """A Kubernetes Event about the experiment. ``at`` is the last time it occurred, in wall seconds."""

    at: float | None
    type: str
    reason: str
    message: str
    count: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """An experiment with the members of its latest epoch, by rank, and its Events, oldest first."""

    experiment: Snapshot
    members: tuple[Member, ...]
    events: tuple[EventSummary, ...]
    unreadable: tuple[str, ...] = ()
    """What the caller may not read, in the API server's words: ``pods is forbidden: …``."""
    members_read: bool = True
    """The pods could be read; without them ``members`` is empty whatever runs."""
    last_lines: tuple[LastLine, ...] = ()
    """What each rank logged last, where that was asked for and may be read."""
    pods: tuple[Json, ...] = ()
    """The pods of every epoch as the API server has them."""

    @property
    def waits_for(self) -> str:
        """What it waits for, in a sentence; empty if it runs or has finished."""
        if self.experiment.finished or (self.experiment.phase == "Running" and not self.experiment.holds("Stuck")):
            return ""
        if not self.experiment.phase:
            return "musterd to process it: is the daemon running on this cluster?"
        return self.experiment.message or self.experiment.reason or self.experiment.phase


async def readable(reading: Awaitable[Sequence[T]], unreadable: list[str]) -> Sequence[T] | None:
    """What was read; None where the caller may not read it: then the refusal is added to ``unreadable``."""
    try:
        return await reading
    except Forbidden as error:
        unreadable.append(error.message)
        return None


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
    )


def oldest_first(found: Iterable[EventSummary]) -> tuple[EventSummary, ...]:
    """Oldest first; Events without a time come first."""
    return tuple(sorted(found, key=lambda event: event.at or 0.0))


async def read_events(resources: ResourceClient, experiment: Snapshot) -> Sequence[EventSummary]:
    """The Events about the experiment that has this uid, oldest first."""
    chosen = {"fieldSelector": f"involvedObject.kind={experiment.subject.kind},involvedObject.uid={experiment.uid}"}
    events = await resources.list(core(experiment.namespace, "events"), chosen)
    return list(oldest_first(event_summary(event) for event in events))
