"""Where faults can be injected, and which of these places are equivalent.

Members between the second and the last are alike: the daemon and the world use their rank only to tell them apart. So
the second stands for them, unless an incident concerns one of them; in large gangs the last one does, because gangs of
four have played both. And nothing else runs between the steps of one iteration of the loop, so a fault after one of
these steps is the same as a fault after the last one.
"""

from collections.abc import Iterable, Sequence
from math import inf

from tests.simulation.oracles.final import Result
from tests.simulation.oracles.histories import History, Step
from tests.simulation.plans import error_classes
from tests.simulation.plans.plan import COUNTED_IN_WRITES, EVERY, Fault
from tests.simulation.scenarios.scenario import Scenario

SEEN = ("experiments", "pods", "services")
"""What the daemon watches."""
LARGE = 16
"""Members from which on a gang is large: a run costs four times as much as that of a gang of four."""


class FaultPoints:
    """The places of one run: its writes by number, its changes by resourceVersion.

    ``full``: no place stands for another one. ``varied``: a fault is played with more than one delay, member or
    moment of a restart.
    """

    def __init__(self, scenario: Scenario, run: Result, *, full: bool) -> None:
        history, size = recorded(run), run.plan.size
        self.scenario, self.plan, self.size, self.full = scenario, run.plan, size, full
        self.varied = full or size == 1 or (scenario.core and size < LARGE)
        distinct = {0, size - 1, *(event.rank % size for event in scenario.incidents)}
        if size < LARGE:
            distinct.add(1)
        left_out = set() if full else set(range(size)) - distinct
        self.writes = [number for number, step in enumerate(history.writes, 1) if step.rank not in left_out]
        self.versions = [step.version for step in changes_seen(history) if step.rank not in left_out]
        self._history = history

    @property
    def turns_of_writes(self) -> Sequence[int]:
        """One write per iteration of the loop."""
        return self.writes if self.full else _last_of_turns(self.writes, self._history.writes)

    @property
    def turns_of_changes(self) -> Sequence[int]:
        """One resourceVersion per iteration of the loop."""
        return self.versions if self.full else _last_of_turns(self.versions, self._history.changes)

    def failures_of(self, number: int) -> Iterable[tuple[str, str]]:
        """The ways in which that write can fail."""
        return error_classes.FAILURES if self.full else error_classes.distinct(self._history.writes, number)

    def second(self, fault: Fault) -> float:
        """The wall-clock second at which that fault is injected for the last time."""
        if fault.at == EVERY:
            return inf
        steps = self._history.writes if fault.kind in COUNTED_IN_WRITES else self._history.changes
        return steps[fault.at - 1].at

    def pod(self, rank: int, version: int) -> bool:
        """Whether a pod of that rank exists at that resourceVersion."""
        steps = [s for s in self._history.changes[:version] if (s.resource, s.rank) == ("pods", rank)]
        return sum((step.kind == "ADDED") - (step.kind == "DELETED") for step in steps) > 0

    def after(self, version: int) -> list[int]:
        """All writes that were sent at that resourceVersion or later."""
        return [number for number, step in enumerate(self._history.writes, 1) if step.version >= version]


def changes_seen(history: History) -> list[Step]:
    """The changes of kinds that the daemon watches."""
    return [step for step in history.changes if step.resource in SEEN]


def recorded(run: Result) -> History:
    """The history of a run that was not compared with another."""
    assert run.history is not None
    return run.history


def _last_of_turns(numbers: Iterable[int], steps: Sequence[Step]) -> list[int]:
    """The last numbered step of each iteration of the loop."""
    return list({steps[number - 1].moment: number for number in numbers}.values())
