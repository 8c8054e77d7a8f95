"""The status of an Experiment: Muster's record, written under a resourceVersion, and read by people and by daemons of
other versions.

Reading is lenient: unknown fields are ignored, long texts are cut and long lists trimmed to the sizes below, so that
the status of a newer daemon never stops an older one. What is of the wrong type raises ``pydantic.ValidationError``
(a ValueError), and nothing else. Times are RFC 3339 with microseconds, in UTC.
"""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from muster.api.values.fields import Time

MAX_MISSING: Final = 64
MAX_STORY: Final = 64
MAX_CONDITIONS: Final = 32
MAX_MESSAGE: Final = 1_024
MAX_COUNTER: Final = 2**53

_SURROGATES: Final = re.compile("[\ud800-\udfff]")


def _cut(longest: int) -> Callable[[Any], Any]:
    """Cut text to that many characters, and to as many bytes: others write what we quote, and etcd counts bytes."""

    def cut(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        text = value if len(value) <= longest else value[: longest - 1] + "…"
        if text.isascii():
            return text
        whole = _SURROGATES.sub("\ufffd", text).encode()
        if len(whole) <= longest + 2:  # what the ellipsis has more of bytes than of characters
            return whole.decode()
        return whole[: longest - 1].decode(errors="ignore") + "…"

    return cut


def _trim(longest: int, *, newest: bool = False) -> Callable[[Any], Any]:
    def trim(value: Any) -> Any:
        if isinstance(value, list | tuple) and len(value) > longest:
            return value[-longest:] if newest else value[:longest]
        return value

    return trim


Short = Annotated[str, Field(max_length=253), BeforeValidator(_cut(253))]
Reason = Annotated[str, Field(max_length=128), BeforeValidator(_cut(128))]
Message = Annotated[str, Field(max_length=MAX_MESSAGE), BeforeValidator(_cut(MAX_MESSAGE))]
Counter = Annotated[int, Field(ge=0, le=MAX_COUNTER)]
Integer = Annotated[int, Field(ge=-MAX_COUNTER, le=MAX_COUNTER)]


class Recorded(BaseModel):
    """Base of everything Muster writes: camelCase on the wire, unknown fields ignored, unchangeable."""

    model_config = ConfigDict(
        strict=True,
        extra="ignore",
        frozen=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
    )


class Roll(Recorded):
    """The last roll call of this epoch."""

    expected: Counter = Field(0, description="Ranks that must arrive.")
    arrived: Counter = Field(0, description="Ranks that have arrived.")
    missing: Annotated[
        tuple[Counter, ...], Field(strict=False, max_length=MAX_MISSING), BeforeValidator(_trim(MAX_MISSING))
    ] = Field((), description=f"The lowest missing ranks, at most {MAX_MISSING}.")
    changed_time: Time | None = Field(None, description="When the roll last changed.")


class Cause(Recorded):
    """The first failure of an epoch: why it ended."""

    epoch: Counter = Field(0, description="The epoch that ended.")
    pod: Short | None = Field(None, description="Pod of the first container that failed.")
    uid: Short | None = Field(None, description="Its uid.")
    group: Short | None = Field(None, description="Its group.")
    rank: Counter | None = Field(None, description="Its rank.")
    container: Short | None = Field(None, description="The container.")
    node: Short | None = Field(None, description="Its node.")
    exit_code: Integer | None = Field(None, description="Exit code of the container.")
    signal: Integer | None = Field(None, description="Signal that ended it.")
    reason: Reason | None = Field(None, description="One word for the failure.")
    message: Message | None = Field(None, description="The failure in a sentence.")
    time: Time | None = Field(None, description="When the container ended.")
    disruption: bool = Field(False, description="Whether the platform ended it (preemption, eviction, node loss).")


class Condition(Recorded):
    """One aspect of the state (Kubernetes meta/v1 Condition)."""

    type: Reason = Field(description="Name of the aspect.")
    status: Annotated[str, Field(pattern=r"^(True|False|Unknown)$", max_length=7)] = Field(
        description="True, False or Unknown."
    )
    reason: Reason | None = Field(None, description="One word for why.")
    message: Message | None = Field(None, description="Why, in a sentence.")
    observed_generation: Counter | None = Field(None, description="Generation of the spec this was decided on.")
    last_transition_time: Time | None = Field(None, description="When status last changed.")


class StoryLine(Recorded):
    """Something that happened."""

    time: Time | None = Field(None, description="When.")
    epoch: Counter = Field(0, description="In which epoch.")
    reason: Reason = Field(description="One word for it.")
    message: Message | None = Field(None, description="It, in a sentence.")
    warning: bool = Field(False, description="Whether it is a reason to look.")


class ExperimentStatus(Recorded):
    """What Muster knows and has decided."""

    phase: Reason | None = Field(
        None,
        description="Summary for the eye: Suspended, Pending, Assembling, Running, Restarting, Succeeded or Failed.",
    )
    phase_time: Time | None = Field(None, description="When this phase began.")
    reason: Reason | None = Field(None, description="One word for why it is in this phase.")
    message: Message | None = Field(None, description="What it waits for, or how it ended.")
    observed_generation: Counter = Field(0, description="Generation of the spec this status is about.")
    epoch: Counter = Field(0, description="Lives of the gang before this one.")
    restarts: Counter = Field(0, description="Gang restarts counted against restartPolicy.backoffLimit.")
    disruptions: Counter = Field(0, description="Gang restarts that the platform caused; they are not counted.")
    ready: Reason | None = Field(None, description="Arrived ranks (or ready members) of those expected, such as 3/4.")
    coordinator: Short | None = Field(None, description="Address the members meet at in this epoch.")
    start_time: Time | None = Field(None, description="When the experiment was started, or last resumed.")
    epoch_time: Time | None = Field(None, description="When this epoch began.")
    scheduled_time: Time | None = Field(None, description="When all pods of this epoch were scheduled.")
    assembling_time: Time | None = Field(None, description="When the first process of this epoch ran.")
    assembled_time: Time | None = Field(None, description="When the roll of this epoch was complete.")
    ending_time: Time | None = Field(None, description="Since when pods that must go are awaited.")
    finish_time: Time | None = Field(None, description="When it succeeded or failed.")
    resume_time: Time | None = Field(None, description="Not before when the next epoch starts (back-off).")
    update_time: Time | None = Field(None, description="When this status was written.")
    deadline: Time | None = Field(None, description="When its total clock passes.")
    roll: Roll | None = Field(None, description="The last roll call.")
    cause: Cause | None = Field(None, description="Why the last epoch ended.")
    conditions: Annotated[
        tuple[Condition, ...], Field(strict=False, max_length=MAX_CONDITIONS), BeforeValidator(_trim(MAX_CONDITIONS))
    ] = Field((), description="The aspects of the state; kubectl wait works on each.")
    story: Annotated[
        tuple[StoryLine, ...],
        Field(strict=False, max_length=MAX_STORY),
        BeforeValidator(_trim(MAX_STORY, newest=True)),
    ] = Field((), description=f"What happened, oldest first: the beginning and the latest, at most {MAX_STORY}.")

    @classmethod
    def from_object(cls, raw: Mapping[str, Any] | None) -> Self:
        """The status in a decoded API object; None is an empty status. Raises ``pydantic.ValidationError``."""
        return cls.model_validate(dict(raw) if raw is not None else {}, by_alias=True, by_name=False)

    def to_object(self) -> dict[str, Any]:
        """The status for the wire, without what is not known."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)
