"""JobSets for tests: the smallest one, and changes to it."""

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]


def job(name: str = "w", **changes: Any) -> Object:
    """A replicated job. ``job`` and ``pod`` hold fields of its Job and of its pod, the rest its own."""
    inside, pod = dict(changes.pop("job", {})), dict(changes.pop("pod", {}))
    template = {"spec": {"containers": [{"name": "main", "image": "i"}], **pod}}
    if labels := changes.pop("labels", None):
        template["metadata"] = {"labels": labels}
    return {"name": name, "template": {"spec": {"template": template, **inside}}, **changes}


def jobset(*jobs: Mapping[str, Any], name: str = "t", annotations: Mapping[str, str] = {}, **spec: Any) -> Object:
    """A JobSet of those replicated jobs, managed by Muster."""
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "generation": 1}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": metadata,
        "spec": {"replicatedJobs": list(jobs) or [job()], "managedBy": "muster.dev/muster", **spec},
    }
