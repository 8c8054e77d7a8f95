"""SelfSubject*Review requests. Every user of a local cluster is system:admin and may do everything."""

from __future__ import annotations

from typing import Any

from muster.local.apiserver.kinds.resources import Resource

Json = dict[str, Any]
_USER: Json = {"username": "system:admin", "groups": ["system:masters", "system:authenticated"]}


def review(resource: Resource, asked: Json) -> Json:
    """The review with its status filled in."""
    answer: Json = {
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        "metadata": asked.get("metadata") or {},
        "spec": asked.get("spec") or {},
    }
    match resource.kind:
        case "SelfSubjectAccessReview":
            answer["status"] = {"allowed": True, "reason": "the local cluster allows everything"}
        case "SelfSubjectReview":
            del answer["spec"]
            answer["status"] = {"userInfo": _USER}
    return answer
