"""batch/v1 JobSpec as a JobSet holds it: the fields, the defaults of the API server, and what Muster refuses.

Sources: kubernetes api/batch/v1 (fields), pkg/apis/batch/v1/defaults.go, pkg/apis/batch/validation. JobSet's webhook
sets ``completionMode`` to Indexed and ``restartPolicy`` to OnFailure where they are absent; Muster does it here,
because the webhook may be absent too.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from muster.api.manifest.template.container import check_json, owned
from muster.api.values.fields import Annotation, LabelKey, LabelValue, Stored, Word, Wrong, listed
from muster.kinds.declaration import list_of, part_of

ExitCode = Annotated[int, Field(ge=0, le=2**31 - 1)]
DISRUPTION = "DisruptionTarget"
LEAVE: Final = "leave managedBy out: the JobSet controller runs it and Muster watches over it"
"""Advice for a field for which a plan has no rule."""


class OnExitCodes(Stored):
    """Matches by the exit code of a container that failed."""

    container_name: Word | None = Field(None, description="The container; any if absent.")
    operator: Literal["In", "NotIn"] = Field(description="Whether the code is one of values, or none of them.")
    values: Annotated[tuple[ExitCode, ...], listed(255, 1)] = Field(description="The exit codes.")

    @model_validator(mode="after")
    def _failures(self) -> Self:
        if self.operator == "In" and 0 in self.values:
            raise Wrong("0 is no failure", "remove 0 from values")
        if len(set(self.values)) < len(self.values):
            raise Wrong("an exit code is listed twice", "list it once")
        return self


class OnPodCondition(Stored):
    """Matches by a condition of the pod. Muster keeps DisruptionTarget of a pod and no other."""

    type: str = Field(description="Type of the condition.")
    status: Literal["True"] = Field("True", description="Status of the condition.")

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.type != DISRUPTION:
            message = f"Muster sees only the condition {DISRUPTION} of a failed pod, not {self.type}"
            raise Wrong(message, f"write {DISRUPTION}, or match by onExitCodes")
        return self


def _action(action: object) -> object:
    if action == "FailIndex":
        raise Wrong("no rule of Muster gives up one pod of a Job alone", f"write FailJob, or {LEAVE}")
    return action


class PodFailureRule(Stored):
    """One rule; the first that matches a failed pod applies."""

    action: Annotated[Literal["FailJob", "Ignore", "Count"], BeforeValidator(_action)] = Field(
        description="What the failure means."
    )
    on_exit_codes: OnExitCodes | None = Field(None, description="By exit code.")
    on_pod_conditions: Annotated[tuple[OnPodCondition, ...], listed(20)] = Field((), description="By condition.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        if bool(self.on_exit_codes) == bool(self.on_pod_conditions):
            raise Wrong("a rule matches by one thing", "write onExitCodes or onPodConditions")
        return self


class PodFailurePolicy(Stored):
    """The rules, in order. A failed pod that no rule matches counts against backoffLimit."""

    rules: Annotated[tuple[PodFailureRule, ...], listed(20)] = Field((), description="The rules.")


MAX_PODS: Final = 100_000
"""Pods of one Job that Muster keeps track of (completions of an Indexed Job, parallelism of the others)."""

PerIndex = owned("no rule of Muster gives up one pod of a Job alone", f"use backoffLimit, or {LEAVE}")


def _pod_spec(spec: dict[str, Any]) -> dict[str, Any]:
    containers = spec.get("containers")
    if not isinstance(containers, list) or not containers:
        raise Wrong("the pod has no container", "write containers with a name and an image")
    inits = spec.get("initContainers") or []
    if not isinstance(inits, list):
        raise Wrong("initContainers is a list of containers", "begin each with - name:")
    for container in (*containers, *inits):
        if not isinstance(container, dict) or not isinstance(container.get("name"), str) or not container["name"]:
            raise Wrong("a container has no name", "write its name")
        _variables(container.get("env"))
    return spec


def _variables(env: object) -> None:
    """Check the shape of the variables that the renderer walks over."""
    named = isinstance(env, list) and all(isinstance(each, dict) and isinstance(each.get("name"), str) for each in env)
    if env is not None and not named:
        raise Wrong("env is a list of variables, each with a name in text", "begin each with - name:")


PodSpecObject = Annotated[dict[str, Any], Field(max_length=128), AfterValidator(check_json), AfterValidator(_pod_spec)]


class TemplateMetadata(Stored):
    """Labels and annotations of a template. Other metadata has no effect in Kubernetes either, and is let through."""

    labels: Annotated[dict[LabelKey, LabelValue], Field(max_length=64)] = Field({}, description="Labels.")
    annotations: Annotated[dict[LabelKey, Annotation], Field(max_length=64)] = Field({}, description="Annotations.")
    name: Any = None
    namespace: Any = None
    generate_name: Any = None
    creation_timestamp: Any = None
    finalizers: Annotated[
        Any, owned("a finalizer keeps a pod that has ended from going, and a restart waits for it", "remove it")
    ] = None
    owner_references: Annotated[Any, owned("Muster sets the owner of the pods", "remove it")] = None


class PodTemplate(Stored):
    """core/v1 PodTemplateSpec. The pod's own fields are checked by the API server when the pod is created."""

    metadata: TemplateMetadata = Field(TemplateMetadata(), description="Labels and annotations of the pods.")
    spec: PodSpecObject = Field(description="The pod (core/v1 PodSpec).")

    @property
    def restart_policy(self) -> str:
        """Return OnFailure, which restarts a container in its pod, or Never, which leaves the pod as it ended."""
        return str(self.spec.get("restartPolicy") or "OnFailure")

    @property
    def containers(self) -> tuple[dict[str, Any], ...]:
        """Return the containers and init containers."""
        return (*self.spec["containers"], *(self.spec.get("initContainers") or ()))

    @property
    def mounts(self) -> frozenset[str]:
        """Return the names of the volumes that containers mount."""
        mounts = (each for container in self.containers for each in list_of(container, "volumeMounts"))
        return frozenset(str(part_of(each).get("name")) for each in mounts)


def _indexed(mode: object) -> object:
    if mode == "NonIndexed":
        raise Wrong("Muster gives each pod of a Job an index of its own", f"remove it, or {LEAVE}")
    return mode


class JobSpec(Stored):
    """batch/v1 JobSpec."""

    parallelism: Annotated[int, Field(ge=1, le=MAX_PODS)] | None = Field(None, description="Pods that run at a time.")
    completions: Annotated[int, Field(ge=1, le=MAX_PODS)] | None = Field(None, description="Pods that must succeed.")
    completion_mode: Annotated[Literal["Indexed"], BeforeValidator(_indexed)] = Field(
        "Indexed", description="Each pod has an index."
    )
    active_deadline_seconds: Annotated[int, Field(ge=1, le=2**53)] | None = Field(
        None, description="Seconds that the Job may take."
    )
    backoff_limit: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = Field(
        None, description="Failed pods that the Job survives; 6 if absent."
    )
    backoff_limit_per_index: Annotated[Any, PerIndex] = None
    max_failed_indexes: Annotated[Any, PerIndex] = None
    pod_failure_policy: PodFailurePolicy | None = Field(None, description="What failed pods mean.")
    pod_replacement_policy: Literal["TerminatingOrFailed", "Failed"] | None = Field(
        None, description="When a pod is replaced. Muster always waits until it has ended."
    )
    success_policy: Annotated[
        Any, owned("a Job of Muster succeeds when every pod of it has", f"remove it, or {LEAVE}")
    ] = None
    template: PodTemplate = Field(description="The pods.")
    suspend: Any = None
    """JobSet overwrites it with its own ``spec.suspend``."""
    ttl_seconds_after_finished: Annotated[
        Any,
        owned(
            "a JobSet runs a Job again that its own ttl has deleted", "set spec.ttlSecondsAfterFinished of the JobSet"
        ),
    ] = None
    selector: Annotated[Any, owned("Kubernetes sets the selector of a Job", "remove it")] = None
    manual_selector: Annotated[Any, owned("Kubernetes sets the selector of a Job", "remove it")] = None
    managed_by: Annotated[Any, owned("Muster runs the pods itself and creates no Job", "remove it")] = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for message, hint in self._problems():
            raise Wrong(message, hint)
        return self

    def _problems(self) -> Iterator[tuple[str, str]]:
        rules = self.pod_failure_policy.rules if self.pod_failure_policy else ()
        containers = {container["name"] for container in self.template.containers}
        named = {rule.on_exit_codes.container_name for rule in rules if rule.on_exit_codes}
        never = self.template.restart_policy == "Never"
        if self.template.restart_policy not in ("OnFailure", "Never"):
            yield f"restartPolicy {self.template.restart_policy} is not allowed in a Job", "write OnFailure or Never"
        if self.completions is None and self.parallelism is not None:
            yield "an Indexed Job states no completions", f"write completions, or {LEAVE}"
        if self.pod_failure_policy is not None and not never:
            yield "podFailurePolicy needs restartPolicy Never", "write restartPolicy: Never in the pod template"
        if self.pod_failure_policy is not None and self.pod_replacement_policy == "TerminatingOrFailed":
            yield "podFailurePolicy needs podReplacementPolicy Failed", "write Failed or remove the field"
        if not never and len(self.template.spec["containers"]) > 1:
            why = "a pod of several containers fails when all have ended, and Muster restarts none of them alone"
            yield f"restartPolicy OnFailure: {why}", f"write restartPolicy: Never, or {LEAVE}"
        if strangers := ", ".join(sorted(name for name in named - containers if name)):
            yield f"onExitCodes names a container that the pod does not have: {strangers}", "correct the name"

    @property
    def at_a_time(self) -> int:
        """Return the number of pods that run together: the default of the API server is 1."""
        return self.parallelism or 1

    @property
    def pods(self) -> int:
        """Return the number of members of the Job."""
        return self.completions or 1

    @property
    def limit(self) -> int:
        """Return the number of failed pods that the Job survives, with the default of the API server."""
        return 6 if self.backoff_limit is None else self.backoff_limit
