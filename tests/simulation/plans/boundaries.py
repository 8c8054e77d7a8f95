"""Where faults are injected: at the boundaries of the phases of a run.

Within each phase of each epoch, the first step of each sort is a boundary: the first pod created, the status write that
ends the phase, the first pod that is seen to run or to fail, and so on. One of all Events is enough: no
decision reads them. ``everywhere`` takes every step instead, as the nightly run does.
"""

from collections.abc import Iterable, Sequence

from tests.scenarios.catalogue import scenarios
from tests.simulation.oracles.histories import History, Step
from tests.simulation.oracles.result import Result

SEEN = ("experiments", "pods", "services")
"""What the daemon watches."""


class Boundaries:
    """The places of one run: its writes by number, its changes by resourceVersion."""

    def __init__(self, run: Result, *, everywhere: bool = False) -> None:
        history = recorded(run)
        self.plan, self.everywhere = run.plan, everywhere
        self.scenario = scenarios()[run.plan.scenario]
        self._history = history
        writes = list(enumerate(history.writes, 1))
        changes = [(step.version, step) for step in changes_seen(history)]
        choose = _all if everywhere else _first_of_sort
        self.writes = choose(writes)
        self.versions = choose(changes)
        self.stages = _first_of_stage(changes)
        self.entries = _first_of_stage(writes)
        self.numbers = _all(writes)

    @property
    def ranks(self) -> Sequence[int]:
        """The first and the last rank."""
        return list(dict.fromkeys([0, self.plan.size - 1]))

    def pod(self, rank: int, version: int) -> bool:
        """Whether a pod of that rank exists at that resourceVersion."""
        steps = [s for s in self._history.changes[:version] if (s.resource, s.rank) == ("pods", rank)]
        return sum((step.kind == "ADDED") - (step.kind == "DELETED") for step in steps) > 0

    def after(self, version: int) -> list[int]:
        """The writes among ``writes`` that were sent at that resourceVersion or later."""
        return [number for number in self.writes if self._history.writes[number - 1].version >= version]


def changes_seen(history: History) -> list[Step]:
    """The changes of kinds that the daemon watches."""
    return [step for step in history.changes if step.resource in SEEN]


def recorded(run: Result) -> History:
    """The history of a run that was not compared with another."""
    assert run.history is not None
    return run.history


def _all(steps: Iterable[tuple[int, Step]]) -> list[int]:
    return [number for number, _ in steps]


def _first_of_sort(steps: Iterable[tuple[int, Step]]) -> list[int]:
    """The first step of each sort in each stage, in order."""
    first: dict[tuple[str, str], int] = {}
    for number, step in steps:
        first.setdefault(("" if step.resource == "events" else step.stage, step.sort), number)
    return sorted(first.values())


def _first_of_stage(steps: Iterable[tuple[int, Step]]) -> list[int]:
    """The first step of each stage, in order."""
    first: dict[str, int] = {}
    for number, step in steps:
        first.setdefault(step.stage, number)
    return sorted(first.values())
