"""The groups that the types of every operator become (``muster.api.manifest.types``), and the gates of a group."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Protocol

from pydantic import Field

from muster.api.values.fields import GroupName, Shape, listed

if TYPE_CHECKING:
    from muster.api.manifest.resources import Resources

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
    resources: "Resources"
    ray_start_params: tuple[tuple[str, str], ...] = ()
    template: Mapping[str, Any] = field(default_factory=dict)
    depends_on: tuple["DependsOn", ...] = ()
    written: tuple[str | int, ...] = ()
    """Place in ``spec.types``; empty: under its name."""

    @property
    def place(self) -> tuple[str | int, ...]:
        """Return its place in ``spec.types``."""
        return self.written or (self.name,)

    @property
    def members(self) -> int:
        """Return the number of pods of the group."""
        return self.count * self.completions


class _Type(Protocol):
    """A type of equal members, whatever its operator."""

    @property
    def resources(self) -> "Resources": ...

    @property
    def template(self) -> dict[str, Any]: ...


def one_job(
    name: str,
    count: int,
    given: _Type,
    params: dict[str, str] | None = None,
    depends_on: tuple["DependsOn", ...] = (),
) -> Group:
    """Return a group of one job with all the members; with TPUs, a job per slice (a slice only works as a whole)."""
    resources = given.resources
    jobs, size = (count, resources.tpu.hosts) if resources.tpu else (1, count)
    return Group(name, jobs, size, size, resources, tuple(sorted((params or {}).items())), given.template, depends_on)


MAX_GATES: Final = 32


class DependsOn(Shape):
    """Another type that must have come so far before pods of this one are created."""

    group: GroupName = Field(description="The awaited type.")
    status: Literal["Created", "Ready", "Complete", "Serving"] = Field(
        description="Created: all its pods exist. Ready: all are ready, or have succeeded. Complete (jobset only): all "
        "have succeeded. Serving: its rank 0 answers as the coordinator."
    )


Gates = Annotated[
    tuple[DependsOn, ...],
    listed(MAX_GATES),
    Field(description="What other types must have come to before pods of this one are created."),
]
