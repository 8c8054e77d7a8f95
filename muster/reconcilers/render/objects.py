"""Renders the headless Service of an experiment, its claims, and the Events of its story; encodes objects as JSON."""

from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import msgspec

from muster.api.errors import MusterError
from muster.api.names import ANNOTATION_ABOUT, LABEL_EXPERIMENT, LABEL_MANAGED_BY, LABEL_UID, MANAGER
from muster.reconcilers.refs import ExperimentRef
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Claim, Port
from muster.state.vocabulary.record import StoryLine


class Unrenderable(MusterError):
    """An object of that kind holds text that cannot be encoded as JSON, so it can never be sent."""

    def __init__(self, message: str, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


def to_json(value: Mapping[str, object], what: str) -> bytes:
    """Encode an object; ``what`` names it in the error.

    The only error of a well-typed object is a lone surrogate, which UTF-8 cannot hold.
    """
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError as error:
        start = max(error.start - 20, 0)
        near = error.object[start : error.end + 20]
        raise Unrenderable(
            f"{what} cannot be written as UTF-8: character {error.start} of {near!r} is half of a surrogate pair. "
            "Remove it from the manifest (it often comes from text cut in the middle of an emoji).",
            str(value.get("kind", "Object")),
        ) from error


def render_service(plan: Plan) -> dict[str, Any]:
    """Return the Service of an experiment, for all its epochs. Its name is the subdomain of the members.

    By default it publishes addresses of pods that are not ready.
    """
    spec: dict[str, object] = {
        "clusterIP": "None",
        "publishNotReadyAddresses": plan.naming.publish_not_ready,
        "selector": {LABEL_UID: plan.uid},
    }
    if plan.coordinator is not None:
        ports = (Port("coordinator", plan.coordinator.port), *plan.coordinator.ports)
        spec["ports"] = [
            {"name": port.name, "protocol": "TCP", "port": port.number, "targetPort": port.number} for port in ports
        ]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": plan.domain,
            "namespace": plan.namespace,
            "labels": labels(plan),
            "ownerReferences": [owner_reference(plan)],
        },
        "spec": spec,
    }


def owner_reference(plan: Plan) -> dict[str, object]:
    """Return the controller reference. The garbage collector deletes the object with the object of the plan."""
    return {
        "apiVersion": plan.subject.api_version,
        "kind": plan.subject.kind,
        "name": plan.name,
        "uid": plan.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def labels(plan: Plan) -> dict[str, object]:
    """Return the labels of every object of the experiment. Selectors use the uid, as a name can be used again."""
    return {LABEL_MANAGED_BY: MANAGER, LABEL_EXPERIMENT: plan.name, LABEL_UID: plan.uid}


def render_claim(plan: Plan, claim: Claim) -> dict[str, Any]:
    """Return the claim. The garbage collector deletes an owned one with the object of the plan."""
    metadata: dict[str, Any] = {"name": claim.name, "namespace": plan.namespace}
    if claim.labels:
        metadata["labels"] = dict(claim.labels)
    if claim.annotations:
        metadata["annotations"] = dict(claim.annotations)
    if claim.owned:
        metadata["ownerReferences"] = [owner_reference(plan)]
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": dict(claim.spec)}


MESSAGE_BYTES = 1024
"""The longest message that Kubernetes accepts (kubernetes: pkg/apis/core/validation/events.go, NoteLengthLimit)."""


def render_event(ref: ExperimentRef, line: StoryLine, instance: str) -> dict[str, Any]:
    """Return the Event of one line. Its name is a hash of the line, so that a repeated create makes no second Event.

    The hash includes the time, except for a watched object: a restarted daemon does not know the first time.

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
