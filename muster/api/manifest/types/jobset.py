"""The types of the jobset operator: any names, each with jobs of equal pods."""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import ConfigDict, Field, RootModel

from muster.api.manifest.groups import MAX_GROUPS, Gates, Group
from muster.api.manifest.resources import Resources
from muster.api.manifest.template.field import Template
from muster.api.values.fields import Count, GroupName, Shape


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
    depends_on: Gates = ()

    def group(self, name: str) -> Group:
        """Return this type as a group."""
        hosts = self.resources.tpu.hosts if self.resources.tpu else 1
        completions = self.completions or hosts
        return Group(
            name,
            self.count,
            completions,
            min(self.parallelisms or hosts, completions),
            self.resources,
            template=self.template,
            depends_on=self.depends_on,
        )


class JobSetTypes(RootModel[Any]):
    """Types of the jobset operator, by name. Ranks are given in the order of the names."""

    model_config = ConfigDict(strict=True, frozen=True, defer_build=True)

    root: Annotated[dict[GroupName, JobSetType], Field(min_length=1, max_length=MAX_GROUPS)]

    def groups(self) -> Iterator[Group]:
        """Return the groups, by name.

        The members of a JSON object have no order, and a real API server returns these sorted. A rank must not depend
        on who has stored the object.
        """
        return (entry.group(name) for name, entry in sorted(self.root.items()))
