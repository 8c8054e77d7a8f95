"""The rights of a musterd and the audit log: which are granted and not used, and which were missing.

A right is (API group, resource or resource/subresource, verb). Requests refused while a test had taken rights away on
purpose do not count as missing.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from muster.kinds.registry import RUN_KINDS
from muster.state.vocabulary.subject import EXPERIMENT
from tests.real.ground import ROOT

Right = tuple[str, str, str]
CHECKED_BY_ADMISSION: frozenset[Right] = frozenset(
    (each.api_version.partition("/")[0], f"{each.plural}/finalizers", "update")
    for each in (EXPERIMENT, *(kind.subject for kind in RUN_KINDS.values()))
)
"""Never a request: OwnerReferencesPermissionEnforcement asks for it at each create with blockOwnerDeletion. The
situations "without the right on finalizers" show that those of Experiments and JobSets are needed."""


@dataclass(frozen=True, slots=True)
class Rights:
    """What the audit log shows."""

    granted: frozenset[Right]
    used: frozenset[Right]
    missing: frozenset[Right]
    requests: int

    @property
    def unused(self) -> frozenset[Right]:
        """Granted, and never used in the whole run."""
        return self.granted - self.used - CHECKED_BY_ADMISSION


def account(namespace: str, name: str) -> str:
    """The user name of a service account."""
    return f"system:serviceaccount:{namespace}:{name}"


def deployed() -> list[Any]:
    return list(yaml.safe_load_all((ROOT / "deploy/musterd.yaml").read_text(encoding="utf-8")))


def measure(audit_log: Path, user: str, objects: Iterable[Any], revoked: Iterable[tuple[float, float]] = ()) -> Rights:
    """What the audit log shows of that user, whose rights are in the roles among the objects."""
    windows = list(revoked)
    used: set[Right] = set()
    missing: set[Right] = set()
    requests = 0
    for event in _events(audit_log, user):
        requests += 1
        right = _right(event)
        if event.get("annotations", {}).get("authorization.k8s.io/decision") == "allow":
            used.add(right)
        elif event.get("responseStatus", {}).get("code") == 403:
            at = datetime.fromisoformat(event["requestReceivedTimestamp"]).timestamp()
            if not any(began <= at <= ended for began, ended in windows):
                missing.add(right)
    return Rights(frozenset(_granted(objects)), frozenset(used), frozenset(missing), requests)


def lines(rights: Rights) -> Iterator[str]:
    yield f"{rights.requests} requests of musterd used {len(rights.used)} of {len(rights.granted)} rights"
    for title, found in (("unused", rights.unused), ("missing", rights.missing)):
        named = ", ".join(f"{verb} {resource}{f'.{group}' if group else ''}" for group, resource, verb in sorted(found))
        yield f"{title} rights: {len(found)}{f' ({named})' if found else ''}"


def _granted(objects: Iterable[Any]) -> Iterator[Right]:
    for document in objects:
        if document and document["kind"] in ("ClusterRole", "Role"):
            for rule in document["rules"]:
                for group in rule["apiGroups"]:
                    for resource in rule["resources"]:
                        yield from ((group, resource, verb) for verb in rule["verbs"])


def _events(audit_log: Path, user: str) -> Iterator[dict[str, Any]]:
    """Each answered request of the user once: a watch is audited when it begins and when it ends."""
    with audit_log.open(encoding="utf-8") as file:
        for line in file:
            event = json.loads(line)
            if event["user"]["username"] == user and event["stage"] in ("ResponseStarted", "ResponseComplete"):
                yield event


def _right(event: dict[str, Any]) -> Right:
    where = event.get("objectRef")
    if where is None:
        return "", str(event["requestURI"]).partition("?")[0], str(event["verb"])
    name = "/".join(filter(None, (where["resource"], where.get("subresource"))))
    return where.get("apiGroup", ""), name, str(event["verb"])
