"""Deletion: preconditions, grace period, finalizers, and when an object is removed.

The order of the steps is that of apiserver pkg/registry/generic/registry/store.go.
"""

from typing import Any

from muster.api.values.timestamps import whole_time
from muster.local.apiserver.errors import conflict, forbidden
from muster.local.apiserver.kinds.resources import Resource
from muster.local.apiserver.objects.options import DeleteOptions
from muster.local.apiserver.storage.stored_objects import Json, StoredObject

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
CONTENTS = "kubernetes"
ORPHAN = "orphan"
"""Finalizers of the garbage collector: of a CRD with objects, of a Namespace, of an owner that leaves dependents."""
_IMMORTAL = frozenset(("default", "kube-public", "kube-system"))


def check_preconditions(resource: Resource, stored: StoredObject, options: DeleteOptions) -> None:
    """Raise ApiError 409 if the uid or resourceVersion differs, 403 if the object must not be deleted."""
    if resource.group_resource == ("", "namespaces") and stored.name in _IMMORTAL:
        raise forbidden(resource.qualified, stored.name, "this namespace may not be deleted")
    for label, wanted, held in (
        ("UID", options.uid, stored.uid),
        ("ResourceVersion", options.version, str(stored.version)),
    ):
        if wanted and wanted != held:
            why = f"Precondition failed: {label} in precondition: {wanted}, {label} in object meta: {held}"
            raise conflict(resource.qualified, stored.name, why)


def grace_of(obj: Json, asked: int | None) -> int:
    """Return the grace period of a pod in seconds; 0 if it is not bound to a node or has finished."""
    spec: dict[str, Any] = obj.get("spec") or {}
    phase = (obj.get("status") or {}).get("phase")
    if not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
        return 0
    own = spec.get("terminationGracePeriodSeconds")
    return max(0, asked if asked is not None else 30 if own is None else int(own))


def mark(resource: Resource, obj: Json, options: DeleteOptions, now: float) -> bool:
    """Set the deletion fields of an object, in place; False if it is to be removed at once."""
    meta = obj["metadata"]
    already = bool(meta.get("deletionTimestamp"))
    finalizers: list[str] = meta.get("finalizers") or []
    if not already:
        own = {"CustomResourceDefinition": [CLEANUP], "Namespace": [CONTENTS]}.get(resource.kind, [])
        own += [ORPHAN] if options.propagation == "Orphan" else []
        if finalizers := list(dict.fromkeys([*finalizers, *own])):
            meta["finalizers"] = finalizers
    grace = grace_of(obj, options.grace) if resource.group_resource == ("", "pods") else 0
    if already:
        # A second delete can only shorten the grace period.
        grace = min(grace, int(meta.get("deletionGracePeriodSeconds") or 0))
    if grace == 0 and not finalizers:
        return False
    if not already or grace != meta.get("deletionGracePeriodSeconds"):
        meta["deletionTimestamp"] = whole_time(now + grace) if not already or grace else meta["deletionTimestamp"]
        meta["deletionGracePeriodSeconds"] = grace
    if not already and "generation" in meta:
        meta["generation"] += 1
    if resource.kind == "Namespace":
        obj.setdefault("status", {})["phase"] = "Terminating"
    return True


def finished(obj: Json) -> bool:
    """Return True if an object that is being deleted has no finalizer and no grace period left."""
    meta = obj["metadata"]
    left = meta.get("finalizers") or meta.get("deletionGracePeriodSeconds")
    return bool(meta.get("deletionTimestamp")) and not left
