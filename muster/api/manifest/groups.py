"""The groups of an experiment: what the types of every operator become (``muster.api.manifest.types``)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from muster.api.manifest.depends_on import DependsOn
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
