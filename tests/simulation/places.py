"""Where faults can strike.

Members between the second and the last are alike: nothing in the daemon or the world asks for their rank but to tell
them apart. So the second stands for them, unless something befalls one of them itself.
"""

from tests.simulation.histories import History, Step
from tests.simulation.oracles import Result
from tests.simulation.scenario import Scenario

SEEN = ("experiments", "pods", "services")
"""What the daemon watches."""


class Places:
    """The places of one run: its writes by their numbers, its changes by their resourceVersions.

    ``full``: nobody stands for anybody else.
    """

    def __init__(self, scenario: Scenario, clean: Result, *, full: bool) -> None:
        history, size = recorded(clean), clean.plan.size
        told_apart = {0, 1, size - 1, *(event.rank % size for event in scenario.befalls)}
        left_out = set() if full else set(range(size)) - told_apart
        self.core, self.size = scenario.core, size
        self.writes = [number for number, step in enumerate(history.writes, 1) if step.rank not in left_out]
        self.versions = [step.version for step in changes_seen(history) if step.rank not in left_out]
        self._before = [step.version for step in history.writes]

    def after(self, version: int) -> list[int]:
        """All writes that were sent when that version was there."""
        return [number for number, before in enumerate(self._before, 1) if before >= version]


def changes_seen(history: History) -> list[Step]:
    """The changes of what the daemon watches."""
    return [step for step in history.changes if step.resource in SEEN]


def recorded(clean: Result) -> History:
    """What happened in a clean run."""
    assert clean.history is not None
    return clean.history
