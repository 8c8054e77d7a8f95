"""The spec of a JobSet (jobset.x-k8s.io/v1alpha2), with JobSet's defaults.

Source: jobset api/jobset/v1alpha2/jobset_types.go and pkg/webhooks/jobset_webhook.go, v0.13.0-devel. The webhook runs
for every JobSet where JobSet is installed, ours included, and nowhere else: its defaults are applied here again.
"""

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from muster.api.names import MANAGED_BY
from muster.api.values.fields import listed
from muster.api.values.stored import Stored
from muster.kinds.job.spec import JobSpec, TemplateMetadata
from muster.kinds.jobset.policies import (
    Coordinator,
    DependsOn,
    FailurePolicy,
    JobName,
    Network,
    StartupPolicy,
    SuccessPolicy,
    VolumeClaimPolicy,
)
from muster.kinds.planning.run_object import RunObject

GROUP: Final = "jobset.x-k8s.io"
API_VERSION: Final = f"{GROUP}/v1alpha2"
KIND: Final = "JobSet"
PLURAL: Final = "jobsets"
EXCLUSIVE: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"
NODE_SELECTOR: Final = "alpha.jobset.sigs.k8s.io/node-selector"


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
        """The replicated jobs start one after another."""
        return self.startup_policy.startup_policy_order == "InOrder"

    @property
    def restarts_jobs(self) -> int | None:
        """The number of the first failure rule that restarts a Job alone; None without one."""
        rules = self.failure_policy.rules if self.failure_policy else ()
        alone = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")
        return next((number for number, rule in enumerate(rules) if rule.action in alone), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSet(RunObject[JobSetSpec]):
    """A JobSet as last read from the API server, or from a file."""

    MODEL = JobSetSpec

    @property
    def subdomain(self) -> str:
        """Name of the headless Service."""
        return self.spec.network.subdomain or self.name

    @property
    def coordinator_endpoint(self) -> str:
        """Host and subdomain of ``spec.coordinator``; empty without one."""
        at = self.spec.coordinator
        if at is None:
            return ""
        return f"{self.name}-{at.replicated_job}-{at.job_index}-{at.pod_index}.{self.subdomain}"

    def exclusive(self, job: ReplicatedJob) -> str:
        """The topology whose domains belong to one Job each; empty where the annotation is absent."""
        own = job.template.metadata.annotations.get(EXCLUSIVE)
        return own if own is not None else self.annotations.get(EXCLUSIVE, "")

    def by_node_selector(self, job: ReplicatedJob) -> bool:
        """The nodes of each Job are labelled beforehand."""
        return NODE_SELECTOR in job.template.metadata.annotations or NODE_SELECTOR in self.annotations
