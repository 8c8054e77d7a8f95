"""``spec.restartPolicy``: how often, how fast and where a gang runs again."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from muster.api.manifest.aichor import BackoffLimit
from muster.api.restart_counts import MAX_NODES
from muster.api.values.durations import parse_duration
from muster.api.values.fields import Count, Number, Shape, Wait, Wrong, null_is_empty


class Backoff(Shape):
    """Pause before a gang restart: initial, then factor times longer each time, up to max."""

    initial: Wait = Field("1s", description="Wait before the first restart; 0s restarts at once.")
    max: Wait = Field("5m", description="Longest wait.")
    factor: Annotated[Number, Field(ge=1, le=10)] = Field(
        2.0, description="Growth of the wait from restart to restart."
    )
    jitter: Annotated[Number, Field(ge=0, le=1)] = Field(
        0.0,
        description="Share by which a wait is shortened at most, at random.",
    )

    @model_validator(mode="after")
    def _growing(self) -> Self:
        if self.initial_seconds > self.max_seconds:
            raise Wrong(f"initial ({self.initial}) is longer than max ({self.max})", "raise max or lower initial")
        return self

    @property
    def initial_seconds(self) -> int:
        """Return the first wait in seconds."""
        return parse_duration(self.initial)

    @property
    def max_seconds(self) -> int:
        """Return the longest wait in seconds."""
        return parse_duration(self.max)


class AvoidNodes(Shape):
    """Nodes that the experiment failed on again and again are left out by its next pods."""

    after_failures: Annotated[int, Field(ge=1, le=100)] = Field(
        2, description="Restarts whose first failure was on a node, after which it is avoided."
    )
    most: Annotated[int, Field(ge=1, le=MAX_NODES)] = Field(
        16, description="Most nodes to avoid: those that failed last."
    )


class RestartPolicy(BackoffLimit):
    """Limit and pace of the restarts of the whole gang after failures."""

    same_failure_limit: Annotated[int, Field(ge=0, le=100)] = Field(
        2,
        description="Equal failures of the gang in a row, without an advance, from which it is SameFailureAgain; 0: "
        "never.",
    )
    same_failure_action: Literal["Alert", "Fail"] = Field(
        "Alert", description="What follows: Alert changes nothing, Fail ends the experiment."
    )
    renew_on_progress: bool = Field(
        False,
        description="Count only restarts since the last progress against backoffLimit: 5 minutes of work and, where "
        "steps are reported, a new best one.",
    )
    avoid_nodes: AvoidNodes | None = Field(
        None,
        description="Avoid nodes that the experiment failed on (by node anti-affinity); {} for the defaults. Absent: "
        "none.",
    )

    backoff: Annotated[Backoff, BeforeValidator(null_is_empty)] = Field(
        Backoff.model_construct(), description="Waits between restarts."
    )
    max_disruptions: Count | None = Field(
        None,
        description="Disruptions in a row, without 5 minutes of work between them, before the experiment fails. "
        "Absent: any number.",
    )

    @model_validator(mode="after")
    def _more_than_one(self) -> Self:
        if self.same_failure_limit == 1:
            raise Wrong("sameFailureLimit 1: one failure is not the same again", "write 2 or more, or 0 for never")
        return self
