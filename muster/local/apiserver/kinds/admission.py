"""Admission of new objects: what the admission plugins and allocators of kube-apiserver set."""

from __future__ import annotations

from typing import Any

from muster.local.apiserver.errors import forbidden
from muster.local.apiserver.kinds import pods, services
from muster.local.apiserver.kinds.resources import Resource
from muster.local.apiserver.storage.versioned_store import VersionedStore

Json = dict[str, Any]
_CLASSES = ("scheduling.k8s.io", "priorityclasses")


def admit(resource: Resource, obj: Json, versions: VersionedStore) -> None:
    """Admit a new object, in place; ApiError 403 for a pod whose PriorityClass does not exist, and for every Job."""
    match resource.group_resource:
        case ("batch", "jobs"):
            why = "the local cluster runs no Jobs; create a Pod (kubectl run), or an Experiment (muster submit)"
            raise forbidden("jobs.batch", obj["metadata"].get("name", ""), why)
        case ("", "pods"):
            pods.admit(obj)
            wanted = (obj.get("spec") or {}).get("priorityClassName")
            if wanted:
                found = versions.lookup(_CLASSES, "", wanted)
                if found is None:
                    why = f"no PriorityClass with name {wanted} was found"
                    raise forbidden("pods", obj["metadata"].get("name", ""), why)
                obj["spec"]["priority"] = found.object().get("value", 0)
        case ("", "services"):
            taken = {str(stored.object()["spec"].get("clusterIP")) for stored in versions.scan(resource.group_resource)}
            services.allocate(obj, taken)
