"""Where faults can strike.

Members between the second and the last are alike: nothing in the daemon or the world asks for their rank but to tell
them apart. So the second stands for them, unless something befalls one of them itself. In large gangs, where faults are
not varied, the last one does, and a family of faults strikes one place of three: gangs of four meet all at each.
"""

from math import inf

from tests.simulation.histories import History, Step
from tests.simulation.oracles import Result
from tests.simulation.plans import COUNTED_IN_WRITES, EVERY, Fault
from tests.simulation.scenario import Scenario

SEEN = ("experiments", "pods", "services")
"""What the daemon watches."""
LARGE = 16
"""Members from which on a gang is large."""
TURNS = 3
"""Families that take turns in large gangs: each strikes so manieth place."""


class Places:
    """The places of one run: its writes by their numbers, its changes by their resourceVersions.

    ``full``: nobody stands for anybody else. ``varied``: a fault is tried in all its variants (delays, members, places
    of a restart), and not in the hardest alone. ``turn`` is the family's, of which every third has the same.
    """

    def __init__(self, scenario: Scenario, clean: Result, *, full: bool, turn: int = 0) -> None:
        history, size = recorded(clean), clean.plan.size
        self.core, self.size = scenario.core, size
        self.varied = full or scenario.core or size == 1
        told_apart = {0, size - 1, *(event.rank % size for event in scenario.befalls)}
        shared = size >= LARGE and not self.varied
        if not shared:
            told_apart.add(1)
        left_out = set() if full else set(range(size)) - told_apart
        own = slice(turn % TURNS, None, TURNS) if shared else slice(None)
        self.writes = [number for number, step in enumerate(history.writes, 1) if step.rank not in left_out][own]
        self.versions = [step.version for step in changes_seen(history) if step.rank not in left_out][own]
        self._history = history

    def second(self, fault: Fault) -> float:
        """The wall second at which that fault strikes last."""
        if fault.at == EVERY:
            return inf
        steps = self._history.writes if fault.kind in COUNTED_IN_WRITES else self._history.changes
        return steps[fault.at - 1].at

    def pod(self, rank: int, version: int) -> bool:
        """Whether there is a pod of that rank once that version is there."""
        steps = [s for s in self._history.changes[:version] if (s.resource, s.rank) == ("pods", rank)]
        return sum((step.kind == "ADDED") - (step.kind == "DELETED") for step in steps) > 0

    def after(self, version: int) -> list[int]:
        """All writes that were sent when that version was there."""
        return [number for number, step in enumerate(self._history.writes, 1) if step.version >= version]


def changes_seen(history: History) -> list[Step]:
    """The changes of what the daemon watches."""
    return [step for step in history.changes if step.resource in SEEN]


def recorded(clean: Result) -> History:
    """What happened in a clean run."""
    assert clean.history is not None
    return clean.history
