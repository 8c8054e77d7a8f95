"""A line of the story as a core/v1 Event, which ``kubectl describe`` shows."""

from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from muster.api.names import ANNOTATION_ABOUT, MANAGER
from muster.reconcilers.refs import ExperimentRef
from muster.state.vocabulary.record import StoryLine

MESSAGE_BYTES = 1024
"""The longest message that Kubernetes accepts (kubernetes: pkg/apis/core/validation/events.go, NoteLengthLimit)."""


def render_event(ref: ExperimentRef, line: StoryLine, instance: str) -> dict[str, Any]:
    """Return the Event of one line. Its name is a hash of the line, so that a repeated create makes no second Event.

    The time is a part of it, but not of a watched object: a daemon that starts anew has not seen when it was said.

    Raises ValueError or OverflowError for a time outside the calendar (years 1 to 9999).
    """
    when = datetime.fromtimestamp(line.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    at = "" if ref.watched else f"{line.at:.6f}"
    identity = "\0".join((ref.uid, str(line.epoch), line.reason, at, line.message))
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{ref.name}.{sha256(identity.encode('utf-8', 'replace')).hexdigest()[:16]}",
            "namespace": ref.namespace,
            **({"annotations": {ANNOTATION_ABOUT: line.about}} if line.about else {}),
        },
        "involvedObject": {
            "apiVersion": ref.subject.api_version,
            "kind": ref.subject.kind,
            "namespace": ref.namespace,
            "name": ref.name,
            "uid": ref.uid,
        },
        "type": "Warning" if line.warning else "Normal",
        "reason": line.reason,
        "message": _capped(line.message),
        "count": 1,
        "firstTimestamp": when,
        "lastTimestamp": when,
        "source": {"component": MANAGER},
        "reportingComponent": MANAGER,
        "reportingInstance": instance,
    }


def _capped(message: str) -> str:
    whole = message.encode("utf-8", "replace")
    if len(whole) <= MESSAGE_BYTES:
        return whole.decode()
    mark = "…"
    return whole[: MESSAGE_BYTES - len(mark.encode())].decode("utf-8", "ignore") + mark
