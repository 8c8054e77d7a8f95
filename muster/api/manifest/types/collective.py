"""The types of the operators whose members are one program: jax, pytorch and xgboost."""

from collections.abc import Iterator

from pydantic import Field

from muster.api.manifest.groups import Gates, Group, one_job
from muster.api.manifest.resources import Resources
from muster.api.manifest.template.field import Template
from muster.api.values.fields import Count, Shape


class Worker(Shape):
    """A type of equal members."""

    count: Count = Field(1, description="Members of this type (TPU slices, if it asks for one); 0 runs none.")
    resources: Resources = Field(description="What each member asks its node for.")
    template: Template = Field({}, description="Pod template of this type, merged over spec.template.")
    depends_on: Gates = ()


class JaxTypes(Shape):
    """Types of the jax operator; member 0 is the coordinator."""

    worker: Worker = Field(description="The JAX processes.")

    def groups(self) -> Iterator[Group]:
        """Yield the groups, in rank order."""
        yield one_job("worker", self.worker.count, self.worker, depends_on=self.worker.depends_on)


class MasterTypes(Shape):
    """Types of the pytorch and xgboost operators; rank 0 is the master's if there is one, else the first worker's."""

    master: Worker | None = Field(
        None, description="A master with resources of its own; it holds the first ranks. 0.2.3 manifests have none."
    )
    worker: Worker = Field(description="The processes of the run.")

    def groups(self) -> Iterator[Group]:
        """Yield the groups, in rank order."""
        if self.master:
            yield one_job("master", self.master.count, self.master, depends_on=self.master.depends_on)
        yield one_job("worker", self.worker.count, self.worker, depends_on=self.worker.depends_on)
