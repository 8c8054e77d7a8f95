"""Events of events.k8s.io/v1 are those of core/v1 under other names (kubernetes pkg/apis/events/v1/conversion.go)."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
_RENAMED = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
)


def to_view(event: Json) -> Json:
    """A core event as events.k8s.io/v1."""
    names = dict(_RENAMED)
    view = {names.get(key, key): value for key, value in event.items()}
    view["apiVersion"] = "events.k8s.io/v1"
    return view


def from_view(view: Json) -> Json:
    """An events.k8s.io/v1 event as core/v1."""
    names = {new: old for old, new in _RENAMED}
    event = {names.get(key, key): value for key, value in view.items()}
    event["apiVersion"] = "v1"
    return event
