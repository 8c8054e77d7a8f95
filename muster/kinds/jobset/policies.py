"""The policies of a JobSet (jobset.x-k8s.io/v1alpha2): order, success, failure, network, coordinator, claims.

Source: jobset api/jobset/v1alpha2/jobset_types.go. What the CRD or the webhook sets where a field is absent is set
here.
"""

import re
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from muster.api.manifest.problems import quoted
from muster.api.manifest.template.values import Opaque
from muster.api.values.fields import LABEL_1035, SUBDOMAIN, Wrong, limited, listed
from muster.api.values.patterns import PatternError, compiled
from muster.api.values.stored import Stored

JobFailureReason = Literal[
    "BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes", "MaxFailedIndexesExceeded", "PodFailurePolicy"
]
MAX_RULES: Final = 10
JobName = Annotated[str, limited(LABEL_1035, 63)]
Targets = Annotated[tuple[str, ...], listed(1_024)]
RULE_NAME: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]{0,126}[A-Za-z0-9_])?")


class DependsOn(Stored):
    """What a replicated job waits for."""

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
        raise Wrong(
            f"{quoted(name)} is no name of a rule",
            "write letters, digits and _ , : (at most 128), the first a letter, the last no sign but _",
        )
    return name


def _pattern(text: str) -> str:
    try:
        compiled(text)
    except PatternError as error:
        raise Wrong(str(error), "correct it: JobSet would ignore it silently") from None
    return text


class FailureRule(Stored):
    """What follows when a job has failed; the first rule that matches applies."""

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
    """How often the JobSet is restarted, and by which rules."""

    max_restarts: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] = Field(0, description="Restarts before it fails.")
    restart_strategy: Literal["Recreate", "BlockingRecreate", "InPlaceRestart"] = Field(
        "Recreate", description="Muster restarts as BlockingRecreate does."
    )
    rules: Annotated[tuple[FailureRule, ...], listed(MAX_RULES)] = Field((), description="The rules, in order.")

    @field_validator("restart_strategy", mode="after")
    @classmethod
    def _recreated(cls, strategy: str) -> str:
        if strategy == "InPlaceRestart":
            raise Wrong(
                "InPlaceRestart needs JobSet's agent in every pod, which its controller steers",
                "write Recreate, or leave managedBy out",
            )
        return strategy

    @model_validator(mode="after")
    def _named_once(self) -> Self:
        names = [self.name_of(number) for number in range(len(self.rules))]
        if doubled := sorted({name for name in names if names.count(name) > 1}):
            raise Wrong(f"two rules have the name {doubled[0]}", "give every rule a name of its own")
        return self

    def name_of(self, number: int) -> str:
        """The name of a rule; one without has the name that JobSet's webhook gives it."""
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
    """What becomes of the claims."""

    when_deleted: Literal["Delete", "Retain"] = Field("Delete", description="When the JobSet is deleted.")


class VolumeClaimPolicy(Stored):
    """Claims that all pods of the JobSet share."""

    templates: Annotated[tuple[ClaimTemplate, ...], listed(50)] = Field((), description="The claims.")
    retention_policy: Retention = Field(Retention(), description="What becomes of them.")
