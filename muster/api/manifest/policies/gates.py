"""Which gates (``types.<t>.dependsOn``) can open, and when the experiment has succeeded (``spec.successPolicy``).

Names and semantics are JobSet's v1alpha2, with one more status, ``Serving``. A gate that could never open is refused:
an experiment that waits forever looks like one that is slow.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from muster.api.manifest.depends_on import MAX_GATES
from muster.api.manifest.operators import operators
from muster.api.manifest.problems import Refused, nearest
from muster.api.values.fields import GroupName, Shape, listed

if TYPE_CHECKING:
    from muster.api.manifest.groups import Group


class SuccessPolicy(Shape):
    """Which jobs must succeed; when they have, the rest is stopped."""

    operator: Literal["All", "Any"] = Field("All", description="All jobs of the targets, or any one of them.")
    targets: Annotated[tuple[GroupName, ...], listed(MAX_GATES)] = Field(
        (), description="Types whose jobs count; absent: every type."
    )


def refused_gates(operator: str, groups: tuple["Group", ...], *, coordinator_first: bool) -> Iterator[Refused]:
    """Yield gates that name no other group, or that could never open."""
    staged = operators()[operator].staged
    names = [group.name for group in groups]
    first = next((group.name for group in groups if group.members), "")
    for group in groups:
        for number, gate in enumerate(group.depends_on):
            loc = ("types", group.name, "dependsOn", number)
            if gate.group not in names:
                yield Refused((*loc, "group"), *unknown_type(gate.group, names))
            elif gate.group == group.name:
                yield Refused((*loc, "group"), "a type cannot wait for itself", "remove this entry")
            elif coordinator_first and not staged and group.name == first:
                message = f"startup.order CoordinatorFirst lets {gate.group} wait for the coordinator, which is here"
                yield Refused(loc, message, "remove this entry, or write startup.order: AllAtOnce")
            elif gate.status == "Complete" and not staged:
                message = f"the types of operator {operator} work together: none completes before the others start"
                yield Refused((*loc, "status"), message, "write Ready")
            elif gate.status == "Serving" and staged:
                yield Refused(
                    (*loc, "status"), f"operator {operator} has no coordinator that could serve", "write Ready"
                )
            elif gate.status == "Serving" and gate.group != first:
                yield Refused((*loc, "group"), f"the coordinator is a member of {first}", f"write group: {first}")
    yield from _cycles({group.name: tuple(gate.group for gate in group.depends_on) for group in groups})


def refused_targets(operator: str, policy: SuccessPolicy | None, groups: tuple["Group", ...]) -> Iterator[Refused]:
    """Yield a success policy for an operator that has its own, and targets that name no group."""
    if policy is None:
        return
    if own := operators()[operator].success:
        yield Refused(("successPolicy",), own, "remove it")
        return
    names = [group.name for group in groups]
    for number, target in enumerate(policy.targets):
        if target not in names:
            yield Refused(("successPolicy", "targets", number), *unknown_type(target, names))


def unknown_type(name: str, names: list[str]) -> tuple[str, str]:
    """Return what is wrong with the name of a type that does not exist, and what to do about it."""
    close = nearest(name, names)
    return f"there is no type {name}", f"did you mean {close}?" if close else f"the types are {', '.join(names)}"


def _cycles(awaited: Mapping[str, tuple[str, ...]]) -> Iterator[Refused]:
    """Yield each type whose gates lead back to it, unless a cycle through it was named before."""
    named: set[str] = set()
    for start in awaited:
        way = _way_back(start, awaited)
        if way and not named.intersection(way):
            named.update(way)
            number = awaited[start].index(way[1])
            circle = " waits for ".join(way)
            yield Refused(
                ("types", start, "dependsOn", number, "group"), f"{circle}", "remove one of these entries: none starts"
            )


def _way_back(start: str, awaited: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return a way of gates from ``start`` to itself over at least one other type; empty without one."""
    ways: list[tuple[str, ...]] = [(start,)]
    seen = set[str]()
    while ways:
        way = ways.pop()
        for name in awaited.get(way[-1], ()):
            if name == start and len(way) > 1:
                return (*way, start)
            if name not in seen and name != start:
                seen.add(name)
                ways.append((*way, name))
    return ()
