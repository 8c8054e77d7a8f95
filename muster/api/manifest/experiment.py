"""The Kubernetes object Experiment (``muster.dev/v1alpha1``): AIchor's spec and Muster's own fields.

Muster's own fields are ``suspend``, ``cancel``, ``startup``, ``restartPolicy`` but for its limit, ``failurePolicy``,
``clocks``, ``successPolicy``, ``ttlAfterFinished``, ``assist``, ``progressEndpoint``, ``managedBy`` and ``template``.
An object read from the API server was checked by its schema, but the schema may be older or newer than this program:
``parse_experiment`` checks everything again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails

from muster.api.manifest.aichor import AIchorSpec, Storage
from muster.api.manifest.error_text import explain
from muster.api.manifest.groups import Group
from muster.api.manifest.naming import check_name
from muster.api.manifest.policies import (
    Clocks,
    FailurePolicy,
    RestartPolicy,
    SuccessPolicy,
    refused_gates,
    refused_rules,
    refused_targets,
)
from muster.api.manifest.problems import Problem, Refused, SpecError, bounded, quoted
from muster.api.manifest.template.container import Written, missing
from muster.api.manifest.template.field import Template, merge
from muster.api.names import MANAGED_BY
from muster.api.values.durations import parse_duration
from muster.api.values.fields import Shape, Wait, Wrong, null_is_empty
from muster.api.wire.kinds import MAX_COUNTER


class Startup(Shape):
    """In which order the groups start."""

    order: Literal["AllAtOnce", "CoordinatorFirst"] = Field(
        "AllAtOnce",
        description="CoordinatorFirst creates other pods when the coordinator serves.",
    )


class ExperimentSpec(AIchorSpec):
    """What to run, and how Muster looks after it."""

    suspend: bool = Field(False, description="Run nothing, and stop what runs, until this is false again.")
    cancel: bool = Field(False, description="End the experiment for good; it fails with reason Cancelled.")
    startup: Annotated[Startup, BeforeValidator(null_is_empty)] = Field(
        Startup.model_construct(), description="In which order the groups start."
    )
    restart_policy: Annotated[RestartPolicy, BeforeValidator(null_is_empty)] = Field(
        RestartPolicy.model_construct(), description="Gang restarts after a failure."
    )
    failure_policy: FailurePolicy | None = Field(
        None, description="What follows a failure; absent: a gang restart, which a disruption does not count for."
    )
    clocks: Annotated[Clocks, BeforeValidator(null_is_empty)] = Field(
        Clocks.model_construct(), description="Deadlines of the stages of an epoch."
    )
    success_policy: SuccessPolicy | None = Field(
        None, description="Which jobs must succeed; absent: every job. When they have, the rest is stopped."
    )
    ttl_after_finished: Wait | None = Field(
        None,
        description="How long the experiment stays after its end; then Muster deletes it with pods and logs. Absent: "
        "it stays.",
    )
    assist: bool = Field(
        False,
        description="Help Python in the members without a change to program or image. See docs/researcher.md.",
    )
    progress_endpoint: bool = Field(
        False,
        description="Give members the address, token and authority of musterd's progress endpoint, in the variables "
        "of Kubeflow Trainer. See docs/guide.md.",
    )
    managed_by: str | None = Field(
        None,
        max_length=63,
        pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[^\s/]+$",
        description=f"Who runs it: {MANAGED_BY}, or absent, is Muster. An object with "
        "another name, such as kueue.x-k8s.io/multikueue, is left alone.",
    )
    template: Template = Field({}, description="Pod template of every member: see docs/pod-template.md.")

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        """Check the rules that need several fields together."""
        details: list[InitErrorDetails] = [
            {"type": "value_error", "loc": each.loc, "input": None, "ctx": {"error": Wrong(each.message, each.hint)}}
            for each in (*missing(self._templates()), *self._refused())
        ]
        if details:
            raise ValidationError.from_exception_data("ExperimentSpec", details)
        return self

    @property
    def ttl_seconds(self) -> int | None:
        """Return seconds for which the finished experiment stays; None: until it is deleted."""
        return None if self.ttl_after_finished is None else parse_duration(self.ttl_after_finished)

    def template_of(self, group: Group) -> dict[str, Any]:
        """Return the pod template of a group: the type's merged over the experiment's."""
        return merge(self.template, group.template)

    def _refused(self) -> Iterator[Refused]:
        yield from refused_gates(self.operator, self.groups, coordinator_first=self.startup.order == "CoordinatorFirst")
        yield from refused_targets(self.operator, self.success_policy, self.groups)
        yield from refused_rules(self.operator, self.failure_policy, self.groups)
        yield from _refused_volumes(self.storage, sum(group.members for group in self.groups))

    def _templates(self) -> Iterator[Written]:
        merged = [self.template_of(group) for group in self.groups]
        if self.template:
            yield Written(("template",), self.template, tuple(merged))
        for number, group in enumerate(self.groups):
            if group.template:
                yield Written(("types", *group.place, "template"), group.template, (merged[number],))


@dataclass(frozen=True, slots=True)
class Experiment:
    """An Experiment as last read from the API server, without its status: see ``muster.api.status``."""

    uid: str
    name: str
    namespace: str
    generation: int
    deletion_timestamp: str | None
    spec: ExperimentSpec
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    finalizers: tuple[str, ...] = ()


def parse_experiment(obj: Mapping[str, Any]) -> Experiment:
    """Return the Experiment in a decoded API object. Raises ``SpecError``, and nothing else, if anything is wrong."""
    metadata = obj.get("metadata") if isinstance(obj, Mapping) else None
    if not isinstance(metadata, Mapping):
        advice = "this is not an object of the API server"
        raise SpecError([Problem("", 0, 0, "metadata", "a mapping is expected", advice)])
    reader = _Metadata(metadata)
    uid, name, namespace = reader.text("uid", 128), reader.text("name", 253), reader.text("namespace", 63)
    generation = metadata.get("generation", 0)
    if isinstance(generation, bool) or not isinstance(generation, int) or not 0 <= generation <= MAX_COUNTER:
        reader.refuse("generation", f"a whole number is expected, not {quoted(generation)}")
    deleted = reader.text("deletionTimestamp", 40, "")
    labels, annotations = reader.texts("labels"), reader.texts("annotations")
    written, spec = obj.get("spec"), None
    try:
        spec = ExperimentSpec.read(written)
    except ValidationError as error:
        operator = written.get("operator") if isinstance(written, Mapping) else None
        reader.problems += explain(error, ExperimentSpec, operator=operator, root=("spec",))
    if spec is not None and name:
        reader.problems += [
            Problem("", 0, 0, "metadata.name", message, hint) for message, hint in check_name(name, spec.groups)
        ]
    if reader.problems or spec is None:
        raise SpecError(bounded(reader.problems))
    listed = metadata.get("finalizers")
    finalizers = tuple(each for each in listed if isinstance(each, str)) if isinstance(listed, list) else ()
    return Experiment(uid, name, namespace, generation, deleted or None, spec, labels, annotations, finalizers)


class _Metadata:
    """Reads the metadata fields that Muster uses, and collects their problems."""

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        self.metadata = metadata
        self.problems: list[Problem] = []

    def refuse(self, key: str, message: str) -> None:
        """Record a problem of one field."""
        self.problems.append(Problem("", 0, 0, f"metadata.{key}", message))

    def text(self, key: str, longest: int, default: str | None = None) -> str:
        """Return a text field; without a default it is required."""
        value = self.metadata.get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= longest:
            self.refuse(key, f"up to {longest} printable characters are expected, not {quoted(value)}")
            return ""
        return value

    def texts(self, key: str) -> dict[str, str]:
        """Return a map of text to text; entries of another kind are left out."""
        value = self.metadata.get(key)
        if not isinstance(value, Mapping):
            return {}
        return {name: text for name, text in value.items() if isinstance(name, str) and isinstance(text, str)}


def _refused_volumes(storage: Storage | None, members: int) -> Iterator[Refused]:
    """Yield the problems of two volumes at one place, and of a volume for several pods that only one may mount."""
    if storage is None:
        return
    places: set[str] = set()
    shared = storage.shared_volume
    if shared is not None:
        places.add(shared.mount_point)
        if shared.access_mode == "ReadWriteOncePod" and members > 1:
            message = f"ReadWriteOncePod lets one pod mount the volume, and {members} members would"
            yield Refused(("storage", "sharedVolume", "accessMode"), message, "write ReadWriteMany")
    for number, claim in enumerate(storage.attach_existing_pvcs):
        if claim.mount_point in places:
            loc = ("storage", "attachExistingPVCs", number, "mountPoint")
            yield Refused(loc, f"another volume is mounted at {claim.mount_point}", "choose another path")
        places.add(claim.mount_point)
