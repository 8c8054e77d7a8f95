"""Kubernetes Events as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from muster.api.names import ANNOTATION_ABOUT
from muster.kube.paths import core
from muster.kube.resources import ResourceClient
from muster.kube.unstructured import Json, mapping, moment, text, whole
from muster.state.vocabulary.subject import PODS

if TYPE_CHECKING:
    from muster.client.snapshot import Snapshot


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
    about: str = ""
    """Subject, for programs; only in Events of Muster."""


def event_summary(event: Json) -> EventSummary:
    """Return the summary of an Event object (core/v1)."""
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
        about=text(mapping(mapping(event.get("metadata")).get("annotations")), ANNOTATION_ABOUT),
    )


def uids_of(seen: Snapshot) -> set[str]:
    """Return the uids of the objects that its Events are about: of labelled pods those of its pods."""
    if seen.subject != PODS:
        return {seen.uid}
    return {member.uid for member in seen.watched.all_members} if seen.watched is not None else set()


async def events_of(resources: ResourceClient, seen: Snapshot) -> Sequence[EventSummary]:
    """Return the Events about an object, oldest first; those without a time come first.

    Those of labelled pods are on the pods.
    """
    pods = seen.subject == PODS
    chosen = "kind=Pod" if pods else f"kind={seen.subject.kind},involvedObject.uid={seen.uid}"
    found = await resources.list(core(seen.namespace, "events"), {"fieldSelector": f"involvedObject.{chosen}"})
    if pods:
        members = uids_of(seen)
        found = [each for each in found if text(mapping(each.get("involvedObject")), "uid") in members]
    return sorted(map(event_summary, found), key=lambda event: event.at or 0.0)
