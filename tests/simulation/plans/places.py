"""Where faults can strike.

Members between the second and the last are alike: nothing in the daemon or the world asks for their rank but to tell
them apart. So the second stands for them, unless something befalls one of them itself; and in large gangs the last,
since gangs of four have met both. And what is done in one turn of the loop is done before anybody else gets a turn: who
strikes after one step of it strikes after the last.
"""

from collections.abc import Iterable, Sequence
from math import inf

from tests.simulation.oracles.final import Result
from tests.simulation.oracles.histories import History, Step
from tests.simulation.plans import answers
from tests.simulation.plans.plan import COUNTED_IN_WRITES, EVERY, Fault
from tests.simulation.scenarios.scenario import Scenario

SEEN = ("experiments", "pods", "services")
"""What the daemon watches."""
LARGE = 16
"""Members from which on a gang is large: its runs cost four times as much as those of four."""


class Places:
    """The places of one run: its writes by their numbers, its changes by their resourceVersions.

    ``full``: nothing stands for anything else. ``varied``: a fault is tried with more than one delay, member or place
    of a restart.
    """

    def __init__(self, scenario: Scenario, run: Result, *, full: bool) -> None:
        history, size = recorded(run), run.plan.size
        self.scenario, self.plan, self.size, self.full = scenario, run.plan, size, full
        self.varied = full or size == 1 or (scenario.core and size < LARGE)
        told_apart = {0, size - 1, *(event.rank % size for event in scenario.befalls)}
        if size < LARGE:
            told_apart.add(1)
        left_out = set() if full else set(range(size)) - told_apart
        self.writes = [number for number, step in enumerate(history.writes, 1) if step.rank not in left_out]
        self.versions = [step.version for step in changes_seen(history) if step.rank not in left_out]
        self._history = history

    @property
    def turns_of_writes(self) -> Sequence[int]:
        """One write of each turn."""
        return self.writes if self.full else _last_of_turns(self.writes, self._history.writes)

    @property
    def turns_of_changes(self) -> Sequence[int]:
        """One version of each turn."""
        return self.versions if self.full else _last_of_turns(self.versions, self._history.changes)

    def answers(self, number: int) -> Iterable[tuple[str, str]]:
        """In which ways that write can go wrong."""
        return answers.WAYS if self.full else answers.told_apart(self._history.writes, number)

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


def recorded(run: Result) -> History:
    """What happened in a run that was not compared with another."""
    assert run.history is not None
    return run.history


def _last_of_turns(numbers: Iterable[int], steps: Sequence[Step]) -> list[int]:
    """Of numbered steps, those after which somebody else gets a turn."""
    return list({steps[number - 1].moment: number for number in numbers}.values())
