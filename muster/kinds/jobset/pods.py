"""The pods of a replicated job: its template with what JobSet adds, and their labels, annotations and variables.

Source: jobset pkg/controllers, jobset_controller.go. Each key is a label and an annotation, as JobSet writes it, but
for ``jobset-name``: that label alone selects a pod for JobSet's pod webhooks, which fail every create while its
controller is down. It is an annotation only, and the Service selects by Muster's own label. The labels of the Job
controller by which people select pods are set too; those that name a Job object are not.
"""

from typing import Any, Final

from muster.kinds.jobset.spec import EXCLUSIVE, NODE_SELECTOR, JobSet, ReplicatedJob
from muster.state.vocabulary.pod_spec import Claim, Env, Source

PREFIX: Final = "jobset.sigs.k8s.io/"
JOBSET_NAME: Final = f"{PREFIX}jobset-name"
BATCH: Final = "batch.kubernetes.io/"
COMPLETION_INDEX: Final = Env(f"{BATCH}job-completion-index", Source.POD_INDEX)
ENVIRONMENT: Final = (Env("JOB_COMPLETION_INDEX", Source.POD_INDEX),)
"""The one variable that pods of a Job have."""


def labels_of(jobset: JobSet, job: ReplicatedJob) -> tuple[Env, ...]:
    """Return the labels of a replicated job's pods."""
    names = Env(f"{BATCH}job-name", Source.JOB_NAME), Env("job-name", Source.JOB_NAME)
    return (*_keys(jobset, job), *names, COMPLETION_INDEX)


def annotations_of(jobset: JobSet, job: ReplicatedJob) -> tuple[Env, ...]:
    """Return the annotations of a replicated job's pods."""
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


TOLERATION: Final = {"key": "alpha.jobset.sigs.k8s.io/no-schedule", "operator": "Exists", "effect": "NoSchedule"}
"""Toleration of the taint that keeps other pods off nodes that are labelled for a Job."""


def template_of(jobset: JobSet, job: ReplicatedJob) -> dict[str, Any]:
    """Return the core/v1 PodTemplateSpec: restart policy, the volumes of claims, the toleration of labelled nodes."""
    template = job.template.spec.template
    spec: dict[str, Any] = {**template.spec, "restartPolicy": "Never"}  # its rules replace a pod that has failed
    for unwanted in ("hostname", "subdomain"):  # a Job and a JobSet overwrite them
        spec.pop(unwanted, None)
    names = [each.metadata.name for policy in jobset.spec.volume_claim_policies for each in policy.templates]
    if mounted := [name for name in names if name in template.mounts]:
        claims = ({"name": name, "persistentVolumeClaim": {"claimName": claim_name(jobset, name)}} for name in mounted)
        spec["volumes"] = [*(spec.get("volumes") or ()), *claims]
    if jobset.exclusive(job) and jobset.by_node_selector(job):
        spec["tolerations"] = [*(spec.get("tolerations") or ()), TOLERATION]
    metadata = template.metadata
    return {"metadata": {"labels": dict(metadata.labels), "annotations": dict(metadata.annotations)}, "spec": spec}


def claim_name(jobset: JobSet, template: str) -> str:
    """Return the name of the claim that a template of ``volumeClaimPolicies`` makes."""
    return f"{template}-{jobset.name}"


def claims_of(jobset: JobSet) -> tuple[Claim, ...]:
    """Return the claims of ``volumeClaimPolicies``."""
    return tuple(
        Claim(
            name=claim_name(jobset, template.metadata.name),
            spec=template.spec,
            labels={**template.metadata.labels, JOBSET_NAME: jobset.name},
            annotations=template.metadata.annotations,
            owned=policy.retention_policy.when_deleted == "Delete",
        )
        for policy in jobset.spec.volume_claim_policies
        for template in policy.templates
    )
