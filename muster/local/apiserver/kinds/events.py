"""Conversion between events.k8s.io/v1 and core/v1 events, which only differ in names of fields.

The names are those of kubernetes pkg/apis/events/v1/conversion.go.
"""

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
    """Convert a core/v1 event to events.k8s.io/v1."""
    names = dict(_RENAMED)
    view = {names.get(key, key): value for key, value in event.items()}
    view["apiVersion"] = "events.k8s.io/v1"
    return view


def from_view(view: Json) -> Json:
    """Convert an events.k8s.io/v1 event to core/v1."""
    names = {new: old for old, new in _RENAMED}
    event = {names.get(key, key): value for key, value in view.items()}
    event["apiVersion"] = "v1"
    return event
