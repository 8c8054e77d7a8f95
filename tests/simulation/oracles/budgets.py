"""Status writes and Events of one experiment are bounded, whatever happens to it."""

from collections import defaultdict
from collections.abc import Iterator

from tests.simulation.world.world import World

WINDOW = 60.0
MOST_STATUSES = 45
"""Status writes of one experiment within a window: five restarts of a gang, each with all its phases."""
MOST_EVENTS = 45
"""The same of Events."""


def within_budget(world: World) -> Iterator[str]:
    """The experiments that were written too often."""
    statuses, events = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
    for change in world.api.history.changes:
        if change.resource == "events":
            events[change.after["involvedObject"]["uid"]].append(change.at)
        elif change.resource == "experiments" and change.kind == "MODIFIED":
            statuses[change.after["metadata"]["uid"]].append(change.at)
    for what, limit, found in (("status writes", MOST_STATUSES, statuses), ("Events", MOST_EVENTS, events)):
        for uid, times in found.items():
            if (most := _busiest(times)) > limit:
                yield f"{most} {what} of {uid[-4:]} within {WINDOW:g} s"


def _busiest(times: list[float]) -> int:
    """The most times within any window."""
    first = most = 0
    for last, at in enumerate(times):
        while times[first] < at - WINDOW:
            first += 1
        most = max(most, last - first + 1)
    return most
