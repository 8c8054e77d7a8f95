"""The specs of JobSets and JAXJobs."""

from typing import Any

from muster.api.names import MANAGED_BY
from muster.kinds.jax.jaxjob import CONTAINER, WORKER

Object = dict[str, Any]


def job(name: str, pods: int, **stated: Any) -> Object:
    """A replicated job of one Job, unless ``replicas`` says otherwise. ``job`` holds fields of the Job."""
    inside = {"completions": pods, "parallelism": pods, **stated.pop("job", {})}
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "demo"}]}}
    return {"name": name, "replicas": 1, "template": {"spec": {**inside, "template": template}}, **stated}


def jobset(*jobs: Object, **stated: Any) -> Object:
    """The spec of a JobSet that Muster is to run."""
    return {"managedBy": MANAGED_BY, "replicatedJobs": list(jobs), **stated}


def jobset_spec(size: int) -> Object:
    """Two Jobs of half the size each."""
    return jobset(job("w", size // 2, replicas=2))


def jaxjob(size: int, *, restart: str = "OnFailure", **run_policy: Any) -> Object:
    """The spec of a JAXJob."""
    template = {"spec": {"containers": [{"name": CONTAINER, "image": "demo"}]}}
    worker = {"replicas": size, "restartPolicy": restart, "template": template}
    return {"runPolicy": run_policy, "jaxReplicaSpecs": {WORKER: worker}}


def jaxjob_spec(size: int) -> Object:
    """A gang of that size."""
    return jaxjob(size)
