"""The types of the kuberay operator: a head, and named groups of workers.

``rayStartParams`` are arguments of ``ray start`` that a manifest adds, or gives in place of Muster's own. Those without
which a member could not be asked, or would not stay, are refused: Muster chooses them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Final, Self

from pydantic import AfterValidator, Field, model_validator

from muster.api.manifest.groups import HEAD, MAX_GROUPS, SUBMITTER, Group, one_job
from muster.api.manifest.problems import quoted
from muster.api.manifest.resources import Resources
from muster.api.manifest.template.field import Template
from muster.api.values.fields import TEXT, WORD, Count, RayGroupName, Shape, Wrong, limited, listed

OWN: Final = {
    "head": "the type Head is the head, and no other",
    "address": "Muster gives every worker the address of its head",
}
NEEDED: Final = {
    "block": "without it `ray start` ends at once, and the member with it",
    "include-dashboard": "Muster asks the dashboard which workers have joined",
}
PORTS: Final = ("port", "dashboard-port", "dashboard-agent-listen-port")


def _checked(params: Mapping[str, str]) -> Mapping[str, str]:
    for name, value in params.items():
        if name in OWN:
            raise Wrong(f"rayStartParams cannot set {name}: {OWN[name]}", "remove it")
        if name in NEEDED and value.lower() != "true":
            raise Wrong(f'{name} must be "true": {NEEDED[name]}', "remove it")
        if name in PORTS and not (value.isascii() and value.isdigit() and 0 < int(value) < 65_536):
            raise Wrong(f"{name}: {quoted(value)} is not a port", "write a number from 1 to 65535")
    return params


RayParams = Annotated[
    dict[Annotated[str, limited(WORD, 63)], Annotated[str, limited(TEXT, 1_024, 0)]],
    Field(max_length=64),
    AfterValidator(_checked),
]


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
        """Yield the head, then the workers as listed."""
        yield replace(one_job(HEAD, 1, self.head, self.head.ray_start_params), written=("Head",))
        for number, group in enumerate(self.workers):
            yield replace(one_job(group.name, group.count, group, group.ray_start_params), written=("Workers", number))
