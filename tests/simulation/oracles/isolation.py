"""Nothing that happens in one namespace moves an experiment of another one.

An experiment's course is its phases and epochs with their times. Where a plan's faults concern requests and objects of
other namespaces only, the course is that of the clean run. And a scenario may state another one, which has no
neighbours: then the courses of both are the same.
"""

from collections.abc import Iterator, Mapping

from tests.scenarios.scenario import path_of
from tests.simulation.oracles.courses import course
from tests.simulation.plans.plan import COUNTED_IN_WRITES, CRASHES, Fault
from tests.simulation.world.world import EPOCH, World

MOVED = 1.0
"""Seconds by which a phase may begin at another time."""
LOCAL = ("refuse", "lose", "slow-answer", "edit-spec")
"""Faults that concern one request or object; the others concern a watch or the whole daemon."""

Course = list[tuple[float, str, int]]


def courses(world: World) -> dict[str, Course]:
    """The course of every experiment, in seconds from the beginning."""
    return {
        name: [(turn.at - EPOCH, turn.phase, turn.epoch) for turn in course(world, name)]
        for name in world.scenario.ends
    }


def unmoved(world: World, clean: Mapping[str, Course], alone: Course | None) -> Iterator[str]:
    """The experiments whose course differs although nothing happened in their namespace."""
    found = courses(world)
    if alone is not None and not world.plan.faults:
        yield from _compare("run", found["run"], alone)
    hit = {_namespace(world, fault) for fault in world.plan.faults}
    if not hit or None in hit or world.plan.shuffle:
        return
    hit |= {refusal.namespace for refusal in world.scenario.refusals}  # what hangs there takes turns as it comes
    for name, wanted in clean.items():
        if path_of(name).split("/")[5] not in hit:
            yield from _compare(name, found[name], wanted)


def _compare(name: str, found: Course, wanted: Course) -> Iterator[str]:
    same = len(found) == len(wanted) and all(
        one[1:] == other[1:] and abs(one[0] - other[0]) <= MOVED for one, other in zip(found, wanted, strict=False)
    )
    if not same:
        yield f"{name} is moved by what happens in another namespace: {found}; by itself: {wanted}"


def _namespace(world: World, fault: Fault) -> str | None:
    """The namespace that a fault concerns; None: more than one."""
    if fault.kind not in LOCAL or fault.kind in CRASHES or fault.at == 0:
        return None
    if fault.kind in COUNTED_IN_WRITES:
        writes = world.writes
        path = writes[fault.at - 1].path if fault.at <= len(writes) else ""
    else:
        path = path_of("run")
    return path.partition("/namespaces/")[2].partition("/")[0] or None
