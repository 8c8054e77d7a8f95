"""batch/v1 PodFailurePolicy: what the failure of one pod means to its Job."""

from typing import Annotated, Final, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from muster.api.values.fields import Word, Wrong, listed
from muster.api.values.stored import Stored

ExitCode = Annotated[int, Field(ge=0, le=2**31 - 1)]
DISRUPTION = "DisruptionTarget"
LEAVE: Final = "leave managedBy out: the JobSet controller runs it and Muster watches over it"
"""What to do about a field for which a plan has no rule."""


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
            raise Wrong(
                f"Muster sees only the condition {DISRUPTION} of a failed pod, not {self.type}",
                f"write {DISRUPTION}, or match by onExitCodes",
            )
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
