"""The types of the kuberay operator: a head, and named groups of workers."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Self

from pydantic import Field, model_validator

from muster.api.manifest.groups import HEAD, MAX_GROUPS, SUBMITTER, Group, one_job
from muster.api.manifest.ray_params import RayParams
from muster.api.manifest.resources import Resources
from muster.api.manifest.template.field import Template
from muster.api.values.fields import Count, RayGroupName, Shape, Wrong, listed


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
        yield replace(one_job(HEAD, 1, self.head, self.head.ray_start_params), written=("Head",))
        for number, group in enumerate(self.workers):
            found = one_job(group.name, group.count, group, group.ray_start_params)
            yield replace(found, written=("Workers", number))
