"""The pod template of a replicated job, with what JobSet adds to it."""

from collections.abc import Mapping
from typing import Any, Final

from muster.kinds.jobset.labels import JOBSET_NAME
from muster.kinds.jobset.spec import JobSet, ReplicatedJob
from muster.state.vocabulary.pod_spec import Claim

TOLERATION: Final = {"key": "alpha.jobset.sigs.k8s.io/no-schedule", "operator": "Exists", "effect": "NoSchedule"}
"""Of the taint that keeps other pods off nodes that are labelled for a Job."""


def template_of(jobset: JobSet, job: ReplicatedJob) -> dict[str, Any]:
    """core/v1 PodTemplateSpec: restart policy, the volumes of claims, the toleration of labelled nodes."""
    template = job.template.spec.template
    spec: dict[str, Any] = {**template.spec, "restartPolicy": "Never"}  # its rules replace a pod that has failed
    for unwanted in ("hostname", "subdomain"):  # a Job and a JobSet overwrite them
        spec.pop(unwanted, None)
    if claims := [_volume(jobset, name) for name in _claims(jobset) if _mounts(template.spec, name)]:
        spec["volumes"] = [*(spec.get("volumes") or ()), *claims]
    if jobset.exclusive(job) and jobset.by_node_selector(job):
        spec["tolerations"] = [*(spec.get("tolerations") or ()), TOLERATION]
    metadata = template.metadata
    return {"metadata": {"labels": dict(metadata.labels), "annotations": dict(metadata.annotations)}, "spec": spec}


def claim_name(jobset: JobSet, template: str) -> str:
    """The name of the claim that a template of ``volumeClaimPolicies`` makes."""
    return f"{template}-{jobset.name}"


def claims_of(jobset: JobSet) -> tuple[Claim, ...]:
    """The claims of ``volumeClaimPolicies``."""
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


def _claims(jobset: JobSet) -> list[str]:
    return [each.metadata.name for policy in jobset.spec.volume_claim_policies for each in policy.templates]


def _volume(jobset: JobSet, name: str) -> dict[str, Any]:
    return {"name": name, "persistentVolumeClaim": {"claimName": claim_name(jobset, name)}}


def _mounts(spec: Mapping[str, Any], name: str) -> bool:
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    return any(
        isinstance(mount, Mapping) and mount.get("name") == name
        for container in containers
        if isinstance(container, Mapping)
        for mount in container.get("volumeMounts") or ()
    )
