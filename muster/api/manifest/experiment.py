"""The Kubernetes object Experiment (``muster.dev/v1alpha1``): AIchor's spec and Muster's own fields.

Muster's own fields are ``suspend``, ``cancel``, ``startup``, ``restartPolicy`` but for its limit, ``failurePolicy``,
``clocks``, ``successPolicy``, ``ttlAfterFinished`` and ``template``. An object read from the API server was checked by
its schema, but the schema may be older or newer than this program: ``parse_experiment`` checks everything again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails

from muster.api.manifest.aichor import AIchorSpec, BackoffLimit
from muster.api.manifest.error_text import explain
from muster.api.manifest.failure_policy import FailurePolicy, refused_rules
from muster.api.manifest.gates import Refused, SuccessPolicy, refused_gates, refused_targets
from muster.api.manifest.groups import Group
from muster.api.manifest.problems import Problem, SpecError, Wrong, bounded, quoted
from muster.api.manifest.template.complete import Missing, Written, missing
from muster.api.manifest.template.merge import merge
from muster.api.manifest.template.pod import Template
from muster.api.manifest.volumes import refused_volumes
from muster.api.naming import check_name
from muster.api.status import MAX_NODES, MAX_RESTART_TIMES
from muster.api.values.durations import parse_duration
from muster.api.values.fields import Count, Duration, Number, Shape, Wait, null_is_empty
from muster.api.wire.kinds import MAX_COUNTER

ClockAction = Literal["Fail", "Restart", "Alert"]


class Startup(Shape):
    """In which order the groups start."""

    order: Literal["AllAtOnce", "CoordinatorFirst"] = Field(
        "AllAtOnce",
        description="AllAtOnce creates every pod together; CoordinatorFirst waits until the coordinator serves.",
    )


class Backoff(Shape):
    """How long Muster waits before a gang restart: initial, then factor times longer each time, up to max."""

    initial: Wait = Field("5s", description="Wait before the first restart; 0s restarts at once.")
    max: Wait = Field("5m", description="Longest wait.")
    factor: Annotated[Number, Field(ge=1, le=10)] = Field(
        2.0, description="Growth of the wait from restart to restart."
    )
    jitter: Annotated[Number, Field(ge=0, le=1)] = Field(
        0.0,
        description="Up to which share of itself a wait is shortened, differently for each experiment and restart.",
    )

    @model_validator(mode="after")
    def _growing(self) -> Self:
        if self.initial_seconds > self.max_seconds:
            raise Wrong(f"initial ({self.initial}) is longer than max ({self.max})", "raise max or lower initial")
        return self

    @property
    def initial_seconds(self) -> int:
        """The first wait in seconds."""
        return parse_duration(self.initial)

    @property
    def max_seconds(self) -> int:
        """The longest wait in seconds."""
        return parse_duration(self.max)


class AvoidNodes(Shape):
    """Nodes that the experiment failed on again and again are left out by its next pods."""

    after_failures: Annotated[int, Field(ge=1, le=100)] = Field(
        2, description="Restarts whose first failure was on a node, after which the node is left out."
    )
    most: Annotated[int, Field(ge=1, le=MAX_NODES)] = Field(
        16, description="Nodes that are left out at most: those that failed last."
    )


class RestartPolicy(BackoffLimit):
    """How often, and how fast, the whole gang is restarted after a failure."""

    window: Duration | None = Field(
        None,
        description="Only the restarts of so long ago count against backoffLimit. Absent: those of the whole life.",
    )
    no_progress_limit: Count | None = Field(
        None,
        description="Gang restarts in a row, of whatever cause, without 5 minutes of work between them, before the "
        "experiment fails. Absent: any number.",
    )
    avoid_nodes: AvoidNodes | None = Field(
        None,
        description="Leave out nodes that the experiment failed on (by node anti-affinity on kubernetes.io/hostname); "
        "{} for the defaults. Absent: none is left out.",
    )

    backoff: Annotated[Backoff, BeforeValidator(null_is_empty)] = Field(
        Backoff(), description="Waits between restarts."
    )
    max_disruptions: Count | None = Field(
        None,
        description="Disruptions in a row, without 5 minutes of work between them, before the experiment fails. "
        "Absent: any number, with growing waits.",
    )

    @model_validator(mode="after")
    def _remembered(self) -> Self:
        if self.window is not None and self.backoff_limit > MAX_RESTART_TIMES:
            message = (
                f"backoffLimit {self.backoff_limit} with a window: at most {MAX_RESTART_TIMES} times are remembered"
            )
            raise Wrong(message, f"lower backoffLimit to {MAX_RESTART_TIMES}, or remove window")
        return self

    @property
    def window_seconds(self) -> int | None:
        """Seconds for which a restart counts; None: for the life of the experiment."""
        return None if self.window is None else parse_duration(self.window)


class Clock(Shape):
    """A deadline of one stage of an epoch."""

    after: Duration = Field(description="How long the stage may take.")
    action: ClockAction = Field(
        "Alert", description="What happens then: Fail the experiment, Restart the gang, or Alert only."
    )

    @property
    def after_seconds(self) -> int:
        """How long the stage may take, in seconds."""
        return parse_duration(self.after)


class Clocks(Shape):
    """Deadlines of the stages; a clock that is absent does not run. The total is spec.timeout."""

    pending: Clock | None = Field(None, description="From an epoch's start until every member has a node.")
    starting: Clock | None = Field(
        None,
        description="From the moment every member has a node until the first program runs. 10 minutes and Alert if "
        "absent.",
    )
    assembly: Clock | None = Field(None, description="From the first process of an epoch until no rank is missing.")
    run: Clock | None = Field(
        None, description="For an epoch to finish, from the moment no rank is missing; each epoch anew."
    )
    progress: Clock | None = Field(
        None,
        description="From one sign of progress to the next: the gang is assembled, a member ends with exit code 0.",
    )
    terminating: Clock | None = Field(
        None,
        description="For old pods to end. Restart deletes by force those that do not: safe only on dead nodes.",
    )


class ExperimentSpec(AIchorSpec):
    """What to run, and how Muster looks after it."""

    suspend: bool = Field(False, description="Run nothing, and stop what runs, until this is false again.")
    cancel: bool = Field(False, description="End the experiment for good; it fails with reason Cancelled.")
    startup: Annotated[Startup, BeforeValidator(null_is_empty)] = Field(
        Startup(), description="In which order the groups start."
    )
    restart_policy: Annotated[RestartPolicy, BeforeValidator(null_is_empty)] = Field(
        RestartPolicy(), description="Gang restarts after a failure."
    )
    failure_policy: FailurePolicy | None = Field(
        None, description="What follows a failure; absent: a gang restart, which a disruption does not count for."
    )
    clocks: Annotated[Clocks, BeforeValidator(null_is_empty)] = Field(
        Clocks(), description="Deadlines of the stages of an epoch."
    )
    success_policy: SuccessPolicy | None = Field(
        None, description="Which jobs must succeed; absent: every job. When they have, the rest is stopped."
    )
    ttl_after_finished: Wait | None = Field(
        None,
        description="How long the experiment stays after it has succeeded or failed; then Muster deletes it with its "
        "pods and their logs. Absent: it stays.",
    )
    template: Template = Field({}, description="Pod template of every member: see docs/pod-template.md.")

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        """What can only be judged with several fields together."""
        found: list[Missing | Refused] = [*missing(self._templates()), *self._refused()]
        if found:
            raise ValidationError.from_exception_data(
                "ExperimentSpec",
                [
                    InitErrorDetails(
                        type="value_error", loc=each.loc, input=None, ctx={"error": Wrong(each.message, each.hint)}
                    )
                    for each in found
                ],
            )
        return self

    @property
    def ttl_seconds(self) -> int | None:
        """Seconds for which the finished experiment stays; None: until somebody deletes it."""
        return None if self.ttl_after_finished is None else parse_duration(self.ttl_after_finished)

    def template_of(self, group: Group) -> dict[str, Any]:
        """The pod template of a group: the type's merged over the experiment's."""
        return merge(self.template, group.template)

    def _refused(self) -> Iterator[Refused]:
        first = self.startup.order == "CoordinatorFirst"
        yield from refused_gates(self.operator, self.groups, coordinator_first=first)
        yield from refused_targets(self.operator, self.success_policy, self.groups)
        yield from refused_rules(self.operator, self.failure_policy, self.groups)
        yield from refused_volumes(self.storage, sum(group.members for group in self.groups))

    def _templates(self) -> Iterator[Written]:
        merged = [self.template_of(group) for group in self.groups]
        if self.template:
            yield Written(("template",), self.template, tuple(merged))
        for number, group in enumerate(self.groups):
            place: tuple[str | int, ...] = (group.name,)
            if self.operator == "kuberay":
                place = ("Workers", number - 1) if number else ("Head",)
            if group.template:
                yield Written(("types", *place, "template"), group.template, (merged[number],))


@dataclass(frozen=True, slots=True)
class Experiment:
    """An Experiment as last read from the API server. ``raw_status`` is not parsed: see ``muster.api.status``."""

    uid: str
    name: str
    namespace: str
    generation: int
    resource_version: str
    creation_timestamp: str
    deletion_timestamp: str | None
    spec: ExperimentSpec
    raw_status: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    finalizers: tuple[str, ...] = ()

    @classmethod
    def from_object(cls, obj: Mapping[str, Any]) -> Self:
        """The same as ``parse_experiment``."""
        metadata = _mapping(obj, "metadata")
        reader = _Metadata(metadata)
        uid, name, namespace = reader.text("uid", 128), reader.text("name", 253), reader.text("namespace", 63)
        generation = metadata.get("generation", 0)
        if isinstance(generation, bool) or not isinstance(generation, int) or not 0 <= generation <= MAX_COUNTER:
            reader.refuse("generation", f"a whole number is expected, not {quoted(generation)}")
        version = reader.text("resourceVersion", 64)
        created, deleted = reader.text("creationTimestamp", 40, ""), reader.text("deletionTimestamp", 40, "")
        labels, annotations = reader.texts("labels"), reader.texts("annotations")
        spec: ExperimentSpec | None = None
        try:
            spec = ExperimentSpec.read(obj.get("spec"))
        except ValidationError as error:
            reader.problems += explain(error, ExperimentSpec, operator=_operator(obj), root=("spec",))
        if spec is not None and name:
            reader.problems += [
                Problem("", 0, 0, "metadata.name", message, hint) for message, hint in check_name(name, spec.groups)
            ]
        if reader.problems or spec is None:
            raise SpecError(bounded(reader.problems))
        raw = obj.get("status")
        status = raw if isinstance(raw, Mapping) else {}
        return cls(
            uid,
            name,
            namespace,
            generation,
            version,
            created,
            deleted or None,
            spec,
            status,
            labels,
            annotations,
            reader.list_of_texts("finalizers"),
        )


def parse_experiment(obj: Mapping[str, Any]) -> Experiment:
    """The Experiment in a decoded API object. Raises ``SpecError``, and nothing else, if anything is wrong with it."""
    return Experiment.from_object(obj)


def _operator(obj: Mapping[str, Any]) -> object:
    spec = obj.get("spec")
    return spec.get("operator") if isinstance(spec, Mapping) else None


def _mapping(obj: Any, key: str) -> Mapping[str, Any]:
    value = obj.get(key) if isinstance(obj, Mapping) else None
    if not isinstance(value, Mapping):
        raise SpecError([Problem("", 0, 0, key, "a mapping is expected", "this is not an object of the API server")])
    return value


class _Metadata:
    """Reads the metadata fields that Muster uses, and collects their problems."""

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        self.metadata = metadata
        self.problems: list[Problem] = []

    def refuse(self, key: str, message: str) -> None:
        """Record a problem of one field."""
        self.problems.append(Problem("", 0, 0, f"metadata.{key}", message))

    def text(self, key: str, longest: int, default: str | None = None) -> str:
        """A text field; without a default it is required."""
        value = self.metadata.get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= longest:
            self.refuse(key, f"up to {longest} printable characters are expected, not {quoted(value)}")
            return ""
        return value

    def texts(self, key: str) -> dict[str, str]:
        """A map of text to text; entries of another kind are left out."""
        value = self.metadata.get(key)
        if not isinstance(value, Mapping):
            return {}
        return {name: text for name, text in value.items() if isinstance(name, str) and isinstance(text, str)}

    def list_of_texts(self, key: str) -> tuple[str, ...]:
        """A list of text; elements of another kind are left out."""
        value = self.metadata.get(key)
        return tuple(text for text in value if isinstance(text, str)) if isinstance(value, list) else ()
