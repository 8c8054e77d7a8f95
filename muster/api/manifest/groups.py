"""The types of an experiment: what ``spec.types`` may hold for each operator, and the list of groups that it becomes.

    jax               worker
    pytorch, xgboost  worker; and master, where a 0.2.2 manifest asked for a master of another size
    kuberay           Head, and Workers: a list of named worker groups
    jobset            any names, each with count x completions members

A missing count is 1, except for kuberay's Workers, where it is 0 (docs.aichor.ai; InstaDeep's count-scenarios
conformance manifests).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, Self, get_args

from pydantic import ConfigDict, Field, RootModel, ValidationInfo, model_validator

from muster.api.gang import MAX_MEMBERS
from muster.api.manifest.policies.gates import MAX_GATES, DependsOn
from muster.api.manifest.problems import Wrong
from muster.api.manifest.ray_params import RayParams
from muster.api.manifest.resources import Resources
from muster.api.manifest.template.pod import Template
from muster.api.values.fields import Count, GroupName, RayGroupName, Shape, listed

Operator = Literal["jax", "kuberay", "pytorch", "xgboost", "jobset"]
OPERATORS: Final[tuple[str, ...]] = get_args(Operator)

MAX_GROUPS: Final = 32

HEAD: Final = "head"
SUBMITTER: Final = "submitter"
"""kuberay's own groups, beside the named ones of Workers; the submitter runs spec.command against the head."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group: the form into which the types of every operator are converted.

    A group has ``count`` jobs of ``completions`` members each, at most ``parallelism`` of a job's members at a time.
    """

    name: str
    count: int
    completions: int
    parallelism: int
    resources: Resources
    ray_start_params: tuple[tuple[str, str], ...] = ()
    template: Mapping[str, Any] = field(default_factory=dict)
    depends_on: tuple[DependsOn, ...] = ()

    @property
    def members(self) -> int:
        """Pods of the group."""
        return self.count * self.completions


def _group(
    name: str,
    count: int,
    given: "Worker | RayHead | RayWorkers",
    params: dict[str, str] | None = None,
    depends_on: tuple[DependsOn, ...] = (),
) -> Group:
    """A group of one job with all the members; with TPUs, a job per slice (a slice only works as a whole)."""
    resources = given.resources
    jobs, size = (count, resources.tpu.hosts) if resources.tpu else (1, count)
    return Group(name, jobs, size, size, resources, tuple(sorted((params or {}).items())), given.template, depends_on)


class Worker(Shape):
    """A type of equal members."""

    count: Count = Field(1, description="Members of this type (TPU slices, if it asks for one); 0 runs none.")
    resources: Resources = Field(description="What each member asks its node for.")
    template: Template = Field({}, description="Pod template of this type, merged over spec.template.")
    depends_on: Annotated[tuple[DependsOn, ...], listed(MAX_GATES)] = Field(
        (), description="What other types must have come to before pods of this one are created."
    )


class JobSetType(Shape):
    """A type of the jobset operator: count jobs of completions pods."""

    count: Count = Field(1, description="Jobs of this type; 0 runs none.")
    completions: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None, description="Members of each job; 1 if absent (hosts of the slice, if it asks for a TPU)."
    )
    parallelisms: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None,
        description="Members of each job that run at a time; 1 if absent (hosts of the slice, if it asks for a TPU).",
    )
    resources: Resources = Field(description="What each member asks its node for.")
    template: Template = Field({}, description="Pod template of this type, merged over spec.template.")
    depends_on: Annotated[tuple[DependsOn, ...], listed(MAX_GATES)] = Field(
        (), description="What other types must have come to before pods of this one are created."
    )

    def group(self, name: str) -> Group:
        """This type as a group."""
        hosts = self.resources.tpu.hosts if self.resources.tpu else 1
        completions = self.completions or hosts
        parallelism = min(self.parallelisms or hosts, completions)
        return Group(
            name,
            self.count,
            completions,
            parallelism,
            self.resources,
            template=self.template,
            depends_on=self.depends_on,
        )


class RayHead(Shape):
    """The member that runs Ray's control store, dashboard and the job."""

    resources: Resources = Field(description="What the head asks its node for.")
    template: Template = Field({}, description="Pod template of this type, merged over spec.template.")
    ray_start_params: RayParams | None = Field(
        None, description="Arguments of `ray start`, without the leading dashes; they override Muster's own."
    )


class RayWorkers(Shape):
    """A named group of equal Ray workers."""

    name: RayGroupName = Field(description="Name of the group; also a Ray resource that actors can ask for.")
    count: Count = Field(0, description="Workers of the group (TPU slices, if it asks for one).")
    resources: Resources = Field(description="What each worker asks its node for.")
    template: Template = Field({}, description="Pod template of this type, merged over spec.template.")
    ray_start_params: RayParams | None = Field(
        None, description="Arguments of `ray start`, without the leading dashes; they override Muster's own."
    )


class JaxTypes(Shape):
    """Types of the jax operator; member 0 is the coordinator."""

    worker: Worker = Field(description="The JAX processes.")

    def groups(self) -> Iterator[Group]:
        """The groups, in rank order."""
        yield _group("worker", self.worker.count, self.worker, depends_on=self.worker.depends_on)


class MasterTypes(Shape):
    """Types of the pytorch and xgboost operators; rank 0 is the master's if there is one, else the first worker's."""

    master: Worker | None = Field(
        None, description="A master with resources of its own; it holds the first ranks. 0.2.3 manifests have none."
    )
    worker: Worker = Field(description="The processes of the run.")

    def groups(self) -> Iterator[Group]:
        """The groups, in rank order."""
        if self.master:
            yield _group("master", self.master.count, self.master, depends_on=self.master.depends_on)
        yield _group("worker", self.worker.count, self.worker, depends_on=self.worker.depends_on)


class RayTypes(Shape):
    """Types of the kuberay operator."""

    head: RayHead = Field(alias="Head", description="The Ray head; there is exactly one.")
    workers: Annotated[tuple[RayWorkers, ...], listed(MAX_GROUPS)] = Field(
        alias="Workers", description="Groups of Ray workers; they wait for the head."
    )

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        seen = {HEAD, SUBMITTER}
        for group in self.workers:
            if group.name in seen:
                taken = "is the name of Muster's own group" if group.name in (HEAD, SUBMITTER) else "is used twice"
                raise Wrong(f"the worker group name {group.name} {taken}", "give every worker group a name of its own")
            seen.add(group.name)
        return self

    def groups(self) -> Iterator[Group]:
        """The head, then the workers as listed."""
        yield _group(HEAD, 1, self.head, self.head.ray_start_params)
        for group in self.workers:
            yield _group(group.name, group.count, group, group.ray_start_params)


class JobSetTypes(RootModel[Annotated[dict[GroupName, JobSetType], Field(min_length=1, max_length=MAX_GROUPS)]]):
    """Types of the jobset operator, by name. Ranks are given in the order of the names."""

    model_config = ConfigDict(strict=True, frozen=True)

    def groups(self) -> Iterator[Group]:
        """The groups, by name.

        The members of a JSON object have no order, and a real API server returns these sorted. A rank must not depend
        on who has stored the object.
        """
        return (entry.group(name) for name, entry in sorted(self.root.items()))


Types = JaxTypes | MasterTypes | RayTypes | JobSetTypes

TYPES_OF: Final[dict[str, type[JaxTypes] | type[MasterTypes] | type[RayTypes] | type[JobSetTypes]]] = {
    "jax": JaxTypes,
    "pytorch": MasterTypes,
    "xgboost": MasterTypes,
    "kuberay": RayTypes,
    "jobset": JobSetTypes,
}


def read_types(value: Any, info: ValidationInfo) -> Any:
    """The types of the operator that was read before them. Without a known operator they are not checked."""
    operator = info.data.get("operator")
    if operator is None:
        return value
    shape = TYPES_OF[operator]
    context = {**(info.context or {}), "operator": operator}
    types = value
    if not isinstance(value, shape):
        types = shape.model_validate(value, by_alias=True, by_name=False, context=context)
    members = sum(group.members for group in types.groups())
    if members > MAX_MEMBERS:
        raise Wrong(f"{members} members", f"an experiment has at most {MAX_MEMBERS}; lower count or completions")
    return types
