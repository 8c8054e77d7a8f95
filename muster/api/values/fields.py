"""Types of the values in a manifest, with patterns and bounds that the API server can check too.

Every text has a longest length and every list a largest size: the API server needs them to bound the cost of its
rules, and Muster to bound its memory. ``MEANING`` describes each pattern in words, for error messages.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    model_validator,
)
from pydantic.alias_generators import to_camel

from muster.api.values.durations import MAX_LENGTH as MAX_DURATION
from muster.api.values.durations import PATTERN as DURATION_PATTERN
from muster.api.values.durations import DurationError, parse_duration
from muster.api.values.timestamps import PATTERN as TIME


class Wrong(ValueError):
    """Raised by a field's own check: what is wrong, and what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}, {hint}" if hint else message)
        self.message = message
        self.hint = hint


class Shape(BaseModel):
    """Base of the models of a manifest: camelCase on the wire, no conversions, no unknown fields, frozen.

    Python code may use the snake_case names; ``read`` accepts the wire names only. What checks a model is built when it
    is first used: a default is made by ``model_construct``, which does not need it.
    """

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        allow_inf_nan=False,
        defer_build=True,
    )

    @classmethod
    def read(cls, data: Any) -> Self:
        """Return an instance from wire data. Raises ``pydantic.ValidationError``."""
        return cls.model_validate(data, by_alias=True, by_name=False)


LABEL_1035: Final = r"^[a-z]([a-z0-9-]*[a-z0-9])?$"
LABEL_1123: Final = r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
SUBDOMAIN: Final = r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"
LABEL_VALUE: Final = r"^([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?$"
LABEL_KEY: Final = r"^([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$"
WORD: Final = r"^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$"
IMAGE: Final = r"^[A-Za-z0-9][A-Za-z0-9._:/@-]*$"
ABSOLUTE_PATH: Final = r"^(/[A-Za-z0-9._-]+)+$"
TOPOLOGY: Final = r"^[1-9][0-9]{0,3}(x[1-9][0-9]{0,3}){1,2}$"
TEXT: Final = r"^[^\x00-\x1f\x7f]*$"
SCRIPT: Final = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*$"

MEANING: Final = {
    LABEL_1035: "lower-case letters, digits and '-', beginning with a letter and not ending with '-'",
    LABEL_1123: "lower-case letters, digits and '-', not beginning or ending with '-'",
    SUBDOMAIN: "lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit",
    LABEL_VALUE: "a label value: letters, digits, '-', '_' and '.', beginning and ending with a letter or digit",
    LABEL_KEY: "a Kubernetes label key: an optional DNS prefix and '/', then letters, digits, '-', '_' and '.'",
    WORD: "letters, digits, '-', '_' and '.', beginning and ending with a letter or digit",
    IMAGE: "a container image: registry/name:tag or registry/name@digest, without spaces",
    ABSOLUTE_PATH: "an absolute path such as /mnt/data: letters, digits, '.', '_' and '-' between single slashes",
    TOPOLOGY: "a TPU topology such as 4x4 or 2x2x4",
    TEXT: "one line of text without control characters",
    SCRIPT: "text without control characters",
    TIME: "a time such as 2026-01-31T12:00:00.000000Z",
    DURATION_PATTERN: 'a duration such as "1w 2d 5h 6m 20s"',
}


def limited(pattern: str, longest: int, shortest: int = 1) -> Any:
    """Return a constraint on text: its pattern, and its length in characters."""
    return StringConstraints(pattern=pattern, max_length=longest, min_length=shortest)


def _whole(value: float) -> float | int:
    return int(value) if value.is_integer() else value


def _seconds(text: str) -> int:
    try:
        return parse_duration(text)
    except DurationError as error:
        raise Wrong(str(error)) from None


def _read_duration(value: Any) -> Any:
    """Check the duration before the pattern does, whose error does not name the position."""
    if isinstance(value, str) and not _seconds(value):
        raise Wrong("a duration of zero", 'write how long, for instance "30m"')
    return value


def _read_wait(value: Any) -> Any:
    if isinstance(value, str):
        _seconds(value)
    return value


def no_climbing(text: str) -> str:
    """Refuse ``..`` in a path."""
    if ".." in text.split("/"):
        raise Wrong("a path with '..'", "write the path without it")
    return text


def thousandths(value: float) -> float:
    """Refuse CPUs finer than a thousandth, Kubernetes' smallest unit."""
    if round(value * 1000) / 1000 != value:
        raise Wrong(f"{value} CPUs is finer than a thousandth", "write at most three decimals")
    return value


def null_is_empty(value: Any) -> Any:
    """Return an empty mapping for ``key:`` without a value."""
    return {} if value is None else value


ExperimentName = Annotated[str, limited(LABEL_1035, 63)]
Namespace = Annotated[str, limited(LABEL_1123, 63)]
Annotation = Annotated[str, limited(SCRIPT, 65_536, 0)]
GroupName = Annotated[str, limited(LABEL_1035, 48)]
RayGroupName = Annotated[str, limited(LABEL_1123, 48)]
ObjectName = Annotated[str, limited(SUBDOMAIN, 253)]
LabelKey = Annotated[str, limited(LABEL_KEY, 317)]
LabelValue = Annotated[str, limited(LABEL_VALUE, 63, 0)]
Word = Annotated[str, limited(WORD, 63)]
Text = Annotated[str, limited(TEXT, 512, 0)]
Image = Annotated[str, limited(IMAGE, 512)]
Command = Annotated[str, limited(SCRIPT, 65_536)]
MountPath = Annotated[str, limited(ABSOLUTE_PATH, 512), AfterValidator(no_climbing)]
Duration = Annotated[str, limited(DURATION_PATTERN, MAX_DURATION, 2), BeforeValidator(_read_duration)]
Wait = Annotated[str, limited(DURATION_PATTERN, MAX_DURATION, 2), BeforeValidator(_read_wait)]
"""A duration that may be zero."""
Count = Annotated[int, Field(ge=0, le=100_000)]
Seconds = Annotated[int, Field(ge=1, le=316_224_000)]
Number = Annotated[float, PlainSerializer(_whole, return_type=float | int, when_used="always")]
Cpus = Annotated[Number, Field(gt=0, le=10_000), AfterValidator(thousandths)]
Gigabytes = Annotated[Number, Field(gt=0, le=1_000_000)]


def listed(longest: int, shortest: int = 0) -> Any:
    """Return a list on the wire, a tuple in Python."""
    return Field(strict=False, max_length=longest, min_length=shortest)


class Stored(Shape):
    """Base of the models of objects of other kinds: null is absent, and so is ``""`` where the default is a value.

    A mutating webhook decodes an object into Go structs and stores it again: JobSet's own, and Kueue's for each kind
    that it queues. A field without ``omitempty`` that the manifest leaves out then holds Go's zero value, as ``status:
    ""`` of a podFailurePolicy's ``onPodConditions`` does. Controllers that read it back do not distinguish it from an
    absent one. A text whose default is None is a pointer in Go. There ``""`` is a value, which Kubernetes refuses.
    """

    @model_validator(mode="before")
    @classmethod
    def _without_zeros(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        plain = {
            key
            for name, field in cls.model_fields.items()
            if not field.is_required() and field.default is not None
            for key in (name, field.alias)
        }
        return {key: value for key, value in data.items() if value is not None and (value != "" or key not in plain)}
