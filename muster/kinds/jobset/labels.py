"""Labels, annotations and variables that the pods of a JobSet have (jobset: pkg/controllers, jobset_controller.go).

Each key is a label and an annotation, as JobSet writes it, but for ``jobset-name``: that label alone selects a pod for
JobSet's pod webhooks, which fail every create while its controller is down. It is an annotation only, and the Service
selects by Muster's own label. The labels of the Job controller by which people select pods are there too; those that
name a Job object are not.
"""

from typing import Final

from muster.kinds.jobset.spec import EXCLUSIVE, NODE_SELECTOR, JobSet, ReplicatedJob
from muster.state.vocabulary.pod_spec import Env, Source

PREFIX: Final = "jobset.sigs.k8s.io/"
JOBSET_NAME: Final = f"{PREFIX}jobset-name"
JOB_KEY: Final = f"{PREFIX}job-key"
BATCH: Final = "batch.kubernetes.io/"
COMPLETION_INDEX: Final = Env(f"{BATCH}job-completion-index", Source.POD_INDEX)
ENVIRONMENT: Final = (Env("JOB_COMPLETION_INDEX", Source.POD_INDEX),)
"""The one variable that pods of a Job have."""


def labels_of(jobset: JobSet, job: ReplicatedJob) -> tuple[Env, ...]:
    """The labels of a replicated job's pods."""
    names = Env(f"{BATCH}job-name", Source.JOB_NAME), Env("job-name", Source.JOB_NAME)
    return (*_keys(jobset, job), *names, COMPLETION_INDEX)


def annotations_of(jobset: JobSet, job: ReplicatedJob) -> tuple[Env, ...]:
    """The annotations of a replicated job's pods."""
    found = [Env(JOBSET_NAME, Source.LITERAL, jobset.name), *_keys(jobset, job)]
    if exclusive := jobset.exclusive(job):
        found.append(Env(EXCLUSIVE, Source.LITERAL, exclusive))
    if exclusive and jobset.by_node_selector(job):
        own = job.template.metadata.annotations.get(NODE_SELECTOR, jobset.annotations.get(NODE_SELECTOR, ""))
        found.append(Env(NODE_SELECTOR, Source.LITERAL, own))
    return (*found, COMPLETION_INDEX)


def _keys(jobset: JobSet, job: ReplicatedJob) -> tuple[Env, ...]:
    jobs = jobset.spec.replicated_jobs
    of_group = sum(each.replicas for each in jobs if each.group_name == job.group_name)
    literal = {
        "jobset-uid": jobset.uid,
        "replicatedjob-name": job.name,
        "replicatedjob-replicas": str(job.replicas),
        "global-replicas": str(sum(each.replicas for each in jobs)),
        "group-name": job.group_name,
        "group-replicas": str(of_group),
    }
    if endpoint := jobset.coordinator_endpoint:
        literal["coordinator"] = endpoint
    placed = {
        "restart-attempt": Source.RESTARTS,
        "job-restart-attempt": Source.JOB_RESTARTS,
        "job-index": Source.JOB_INDEX,
        "job-key": Source.JOB_KEY,
        "job-global-index": Source.JOB_GLOBAL_INDEX,
        "job-group-index": Source.JOB_GROUP_INDEX,
    }
    return (
        *(Env(f"{PREFIX}{key}", Source.LITERAL, value) for key, value in literal.items()),
        *(Env(f"{PREFIX}{key}", source) for key, source in placed.items()),
    )
