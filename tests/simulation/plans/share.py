"""CI's share of the plans, chosen by a rule (ADR 56).

The first gang of a core scenario is played with each fault at each boundary: the first step of each sort in each phase.
Every other gang and every other scenario is played with each fault once in each phase of each epoch. A gang of another
size is played where it has a phase that the usual size has not.

Plans of one cell differ in the step within the phase and in the way that the fault strikes (which error, which rank,
which older list). They take turns from cell to cell, so that each step and each way is struck by some fault.
``make simulate-all`` plays the others too. CI plays a part of the share: of the plans of one scenario, operator and
family with the same kinds of fault, every Nth, and at least one.
"""

from collections.abc import Iterable, Iterator
from zlib import crc32

from tests.scenarios.catalogue import scenarios
from tests.simulation.oracles.histories import Step
from tests.simulation.oracles.result import Result
from tests.simulation.plans.boundaries import recorded
from tests.simulation.plans.plan import COUNTED_IN_WRITES, EVERY, Fault, Plan

Cell = tuple[str, str, tuple[tuple[str, str, str], ...]]
"""Operator, family, and of each fault its kind, the phase, and the sort of the step where that matters."""


class Share:
    """The share of one scenario, or one plan in ``part`` of it. Its gangs are asked for in order."""

    def __init__(self, scenario: str, part: int = 1) -> None:
        self.scenario = scenario
        self._part = part
        self._core = scenarios()[scenario].core
        self._first: tuple[int, str] | None = None
        self._known: set[Cell] = set()

    def of(self, family: str, plans: Iterable[Plan], clean: Result) -> Iterator[Plan]:
        """One plan of each cell that no earlier gang has, or a part of these."""
        gang = clean.plan.size, clean.plan.operator
        self._first = self._first or gang
        found: dict[Cell, list[Plan]] = {}
        for plan in plans:
            found.setdefault(self.cell(family, plan, clean), []).append(plan)
        offset = crc32(f"{self.scenario}/{clean.plan.operator}/{family}".encode())
        of_kinds: dict[tuple[str, ...], list[Plan]] = {}
        for turn, (cell, alike) in enumerate(found.items()):
            if cell not in self._known:
                kinds = tuple(kind for kind, _, _ in cell[2])
                of_kinds.setdefault(kinds, []).append(alike[(offset + turn) % len(alike)])
        for chosen in of_kinds.values():
            yield from chosen[offset % min(self._part, len(chosen)) :: self._part]
        self._known |= set(found)

    def cell(self, family: str, plan: Plan, clean: Result) -> Cell:
        """The cell of a plan, judged by the run without faults."""
        by_sort = self._core and self._first == (clean.plan.size, clean.plan.operator)
        places = (_place(fault, clean) for fault in plan.faults)
        return clean.plan.operator, family, tuple((kind, at, sort if by_sort else "") for kind, at, sort in places)


def _place(fault: Fault, clean: Result) -> tuple[str, str, str]:
    """Kind, phase and sort of a step. A stale list is placed by where it ends, other faults by where they strike."""
    history = recorded(clean)
    if fault.kind == "stale":
        return _named(fault, history.changes, int(fault.how))
    return _named(fault, history.writes if fault.kind in COUNTED_IN_WRITES else history.changes, fault.at)


def _named(fault: Fault, steps: tuple[Step, ...], number: int) -> tuple[str, str, str]:
    if number == EVERY:
        return fault.kind, "", ""
    if number > len(steps):  # the second of two crashes, in a run that is longer than the one without faults
        return fault.kind, "later", ""
    step = steps[number - 1]
    return fault.kind, step.stage, step.sort
