"""A JobSet (jobset.x-k8s.io/v1alpha2): its spec with JobSet's defaults, and the metadata and templates of its pods.

Sources: jobset v0.13.0-devel, api/jobset/v1alpha2/jobset_types.go, pkg/webhooks/jobset_webhook.go, and for the pods
pkg/controllers, jobset_controller.go. The webhook runs for every JobSet where JobSet is installed, ours included, and
nowhere else: its defaults are applied here again.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from muster.api.manifest.problems import quoted
from muster.api.manifest.template.container import Opaque
from muster.api.names import MANAGED_BY
from muster.api.values.fields import LABEL_1035, SUBDOMAIN, Stored, Wrong, limited, listed
from muster.api.values.patterns import PatternError, compiled
from muster.kinds.declaration import list_of
from muster.kinds.job.spec import JobSpec, TemplateMetadata
from muster.kinds.planning.run_object import RunObject
from muster.state.vocabulary.pod import Claim, Env, Source

EXCLUSIVE: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"
NODE_SELECTOR: Final = "alpha.jobset.sigs.k8s.io/node-selector"
JobFailureReason = Literal[
    "BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes", "MaxFailedIndexesExceeded", "PodFailurePolicy"
]
MAX_RULES: Final = 10
JobName = Annotated[str, limited(LABEL_1035, 63)]
Targets = Annotated[tuple[str, ...], listed(1_024)]
RULE_NAME: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]{0,126}[A-Za-z0-9_])?")


class DependsOn(Stored):
    """Condition of a group that a replicated job waits for."""

    name: str = Field(description="The replicated job to wait for.")
    status: Literal["Ready", "Complete"] = Field(description="How far its jobs must have come.")


class StartupPolicy(Stored):
    """In which order the replicated jobs start."""

    startup_policy_order: Literal["AnyOrder", "InOrder"] = Field("AnyOrder", description="AnyOrder or InOrder.")


class SuccessPolicy(Stored):
    """Which jobs must succeed."""

    operator: Literal["All", "Any"] = Field("All", description="All of them, or any.")
    target_replicated_jobs: Targets = Field((), description="The replicated jobs that count; all if empty.")


def _rule_name(name: str) -> str:
    if not RULE_NAME.fullmatch(name):
        hint = "write letters, digits and _ , : (at most 128), the first a letter, the last no sign but _"
        raise Wrong(f"{quoted(name)} is no name of a rule", hint)
    return name


def _pattern(text: str) -> str:
    try:
        compiled(text)
    except PatternError as error:
        raise Wrong(str(error), "correct it: JobSet would ignore it silently") from None
    return text


class FailureRule(Stored):
    """Action after the failure of a job; the first rule that matches applies."""

    name: Annotated[str, AfterValidator(_rule_name)] = Field("", description="Name of the rule.")
    action: Literal[
        "FailJobSet",
        "RestartJobSet",
        "RestartJobSetAndIgnoreMaxRestarts",
        "RestartJob",
        "RestartJobAndIgnoreMaxRestarts",
    ] = Field(description="What follows.")
    on_job_failure_reasons: Annotated[tuple[JobFailureReason, ...], listed(20)] = Field((), description="By reason.")
    on_job_failure_message_patterns: Annotated[tuple[Annotated[str, AfterValidator(_pattern)], ...], listed(20)] = (
        Field((), description="By message: RE2 expressions, one must match.")
    )
    target_replicated_jobs: Targets = Field((), description="The replicated jobs that it is about; all if empty.")


class FailurePolicy(Stored):
    """Limit of the JobSet's restarts, and their rules."""

    max_restarts: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] = Field(0, description="Restarts before it fails.")
    restart_strategy: Literal["Recreate", "BlockingRecreate", "InPlaceRestart"] = Field(
        "Recreate", description="Muster restarts as BlockingRecreate does."
    )
    rules: Annotated[tuple[FailureRule, ...], listed(MAX_RULES)] = Field((), description="The rules, in order.")

    @field_validator("restart_strategy", mode="after")
    @classmethod
    def _recreated(cls, strategy: str) -> str:
        if strategy == "InPlaceRestart":
            message = "InPlaceRestart needs JobSet's agent in every pod, which its controller steers"
            raise Wrong(message, "write Recreate, or leave managedBy out")
        return strategy

    @model_validator(mode="after")
    def _named_once(self) -> Self:
        names = [self.name_of(number) for number in range(len(self.rules))]
        if doubled := sorted({name for name in names if names.count(name) > 1}):
            raise Wrong(f"two rules have the name {doubled[0]}", "give every rule a name of its own")
        return self

    def name_of(self, number: int) -> str:
        """Return the name of a rule; one without has the name that JobSet's webhook gives it."""
        return self.rules[number].name or f"failurePolicyRule{number}"


class Network(Stored):
    """Host names of the pods."""

    enable_dns_hostnames: bool = Field(True, alias="enableDNSHostnames", description="Whether pods have host names.")
    subdomain: Annotated[str, limited(LABEL_1035, 63)] = Field(
        "", description="Name of the headless Service; the JobSet's own if absent."
    )
    publish_not_ready_addresses: bool = Field(True, description="Whether pods that are not ready have an address.")


class Coordinator(Stored):
    """The pod whose address every pod is given, as a label and as an annotation."""

    replicated_job: str = Field(description="Its replicated job.")
    job_index: Annotated[int, Field(ge=0)] = Field(0, description="Its job.")
    pod_index: Annotated[int, Field(ge=0)] = Field(0, description="Its index in the job.")


class ClaimMetadata(Stored):
    """Metadata of a claim's template."""

    name: Annotated[str, limited(SUBDOMAIN, 63)] = Field(description="Name of the volume; the claim's begins with it.")
    labels: dict[str, str] = Field({}, description="Labels.")
    annotations: dict[str, str] = Field({}, description="Annotations.")
    creation_timestamp: Any = None


class ClaimTemplate(Stored):
    """core/v1 PersistentVolumeClaim without a namespace."""

    api_version: Any = None
    kind: Any = None
    metadata: ClaimMetadata = Field(description="Name, labels and annotations.")
    spec: Opaque = Field(description="The claim (core/v1 PersistentVolumeClaimSpec).")
    status: Any = None


class Retention(Stored):
    """Policy for the claims after use."""

    when_deleted: Literal["Delete", "Retain"] = Field("Delete", description="When the JobSet is deleted.")


class VolumeClaimPolicy(Stored):
    """Claims that all pods of the JobSet share."""

    templates: Annotated[tuple[ClaimTemplate, ...], listed(50)] = Field((), description="The claims.")
    retention_policy: Retention = Field(Retention(), description="What becomes of them.")


class JobTemplate(Stored):
    """batch/v1 JobTemplateSpec."""

    metadata: TemplateMetadata = Field(TemplateMetadata(), description="Labels and annotations of the Jobs.")
    spec: JobSpec = Field(description="The Job.")


class ReplicatedJob(Stored):
    """Jobs of one template."""

    name: JobName = Field(description="Name of the replicated job.")
    group_name: JobName = Field("default", description="Name of a group of replicated jobs.")
    replicas: Annotated[int, Field(ge=0, le=100_000)] = Field(1, description="How many Jobs.")
    depends_on: Annotated[tuple[DependsOn, ...], listed(5)] = Field((), description="What it waits for.")
    template: JobTemplate = Field(description="The Job that is replicated.")


class JobSetSpec(Stored):
    """JobSetSpec v1alpha2."""

    replicated_jobs: Annotated[tuple[ReplicatedJob, ...], listed(1_024)] = Field((), description="The jobs.")
    network: Network = Field(Network(), description="Host names.")
    success_policy: SuccessPolicy = Field(SuccessPolicy(), description="When it has succeeded.")
    failure_policy: FailurePolicy | None = Field(None, description="What follows a failed job; absent: the end.")
    startup_policy: StartupPolicy = Field(StartupPolicy(), description="In which order the replicated jobs start.")
    suspend: bool = Field(False, description="Run nothing, and stop what runs, until this is false again.")
    coordinator: Coordinator | None = Field(None, description="The pod whose address all pods are given.")
    managed_by: str | None = Field(
        None, description=f"{MANAGED_BY}, for a JobSet that Muster runs; it cannot be set later."
    )
    ttl_seconds_after_finished: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = Field(
        None, description="Seconds after its end when it is deleted."
    )
    volume_claim_policies: Annotated[tuple[VolumeClaimPolicy, ...], listed(50)] = Field(
        (), description="Claims that all pods share."
    )

    @property
    def in_order(self) -> bool:
        """Return True if the replicated jobs start one after another."""
        return self.startup_policy.startup_policy_order == "InOrder"

    @property
    def restarts_jobs(self) -> int | None:
        """Return the number of the first failure rule that restarts a Job alone; None without one."""
        rules = self.failure_policy.rules if self.failure_policy else ()
        alone = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")
        return next((number for number, rule in enumerate(rules) if rule.action in alone), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSet(RunObject[JobSetSpec]):
    """A JobSet as last read from the API server, or from a file."""

    MODEL = JobSetSpec

    @property
    def subdomain(self) -> str:
        """Return the name of the headless Service."""
        return self.spec.network.subdomain or self.name

    @property
    def coordinator_endpoint(self) -> str:
        """Return host and subdomain of ``spec.coordinator``; empty without one."""
        at = self.spec.coordinator
        if at is None:
            return ""
        return f"{self.name}-{at.replicated_job}-{at.job_index}-{at.pod_index}.{self.subdomain}"

    def exclusive(self, job: ReplicatedJob) -> str:
        """Return the topology whose domains belong to one Job each; empty where the annotation is absent."""
        own = job.template.metadata.annotations.get(EXCLUSIVE)
        return own if own is not None else self.annotations.get(EXCLUSIVE, "")

    def by_node_selector(self, job: ReplicatedJob) -> bool:
        """Return True if the nodes of each Job are labelled beforehand."""
        return NODE_SELECTOR in job.template.metadata.annotations or NODE_SELECTOR in self.annotations


PREFIX: Final = "jobset.sigs.k8s.io/"
JOBSET_NAME: Final = f"{PREFIX}jobset-name"
"""An annotation of pods, and no label: that alone selects a pod for JobSet's pod webhooks, which fail every create
while its controller is down. The Service selects by Muster's own label."""
BATCH: Final = "batch.kubernetes.io/"
COMPLETION_INDEX: Final = Env(f"{BATCH}job-completion-index", Source.POD_INDEX)
ENVIRONMENT: Final = (Env("JOB_COMPLETION_INDEX", Source.POD_INDEX),)
"""The one variable that pods of a Job have."""


def labels_of(jobset: JobSet, job: ReplicatedJob) -> tuple[Env, ...]:
    """Return the labels of a replicated job's pods.

    The Job controller's labels by which people select pods are among them; those with the uid of a Job are not.
    """
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
    """Return the keys that are both labels and annotations, as JobSet writes them."""
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
        spec["volumes"] = [*list_of(spec, "volumes"), *claims]
    if jobset.exclusive(job) and jobset.by_node_selector(job):
        spec["tolerations"] = [*list_of(spec, "tolerations"), TOLERATION]
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
