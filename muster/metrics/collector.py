"""The experiments, read at scrape.

Nothing is stored per experiment, so nothing can leak: a scrape walks what the daemon knows at that moment. The walk
counts all experiments, and notes of as many as may fit what changes between two events of the loop; ``metrics.series``
writes that down in a thread.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from muster.metrics.catalogue import INVALID, OTHER, SERIES
from muster.metrics.exposition import Families, label
from muster.metrics.rows import fleet
from muster.metrics.series import FEWEST, FEWEST_FINISHED, Deadlines, Facts, Finished, Series
from muster.rollcall.arrivals import arrivals
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.counts import by_cause
from muster.state.view.view import View
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import FINISHED, Phase, Record
from muster.state.vocabulary.wall_time import moved

OPERATORS = 32
"""Values of the label operator in the sums; there are five operators and a few foreign kinds."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One experiment as the daemon knows it at this moment."""

    plan: Plan
    record: Record
    view: View
    step: float = 0.0
    """Seconds by which the wall clock was set since the record was persisted."""

    def at(self, now: float) -> Context:
        """The experiment at a wall second."""
        return Context(self.plan, self.record, self.view, now)


@dataclass(frozen=True, slots=True)
class Invalid:
    """An experiment that has ended because its spec cannot be planned."""

    namespace: str
    name: str
    record: Record


class Known(Protocol):
    """An experiment that is walked over; one without a plan or a record is passed over."""

    @property
    def plan(self) -> Plan | None:
        """What is wanted."""

    @property
    def record(self) -> Record | None:
        """What has happened."""

    @property
    def view(self) -> View:
        """What is seen."""

    @property
    def step(self) -> float:
        """See ``Subject``."""


class ExperimentCollector(Collector):
    """``clock`` gives wall seconds; ``known`` is walked once per scrape, on the event loop.

    ``invalid`` gives the experiments without a plan.
    """

    def __init__(
        self,
        known: Callable[[], Iterable[Known]],
        clock: Callable[[], float],
        deadlines: Deadlines,
        cap: int = SERIES,
        *,
        invalid: Callable[[], Iterable[Invalid]] = tuple,
    ) -> None:
        self._known = known
        self._invalid = invalid
        self._clock = clock
        self._deadlines = deadlines
        self._cap = cap

    def collect(self) -> Iterable[Family]:
        """The sums, and the series of as many experiments as fit."""
        phases: Counter[tuple[str, Phase]] = Counter()
        running: list[tuple[Plan, Record, Known]] = []
        finished: list[Finished] = []
        most_running, most_finished = self._cap // FEWEST + 1, self._cap // FEWEST_FINISHED + 1
        for each in self._known():
            plan, record = each.plan, each.record
            if plan is None or record is None:
                continue
            phase = record.phase
            phases[plan.operator, phase] += 1
            if phase in FINISHED:
                if len(finished) < most_finished:
                    finished.append(Finished(plan.namespace, plan.title, plan.operator, phase, plan.engine))
            elif len(running) < most_running:
                running.append((plan, moved(record, each.step), each))
        for invalid in self._invalid():
            phases[INVALID, invalid.record.phase] += 1
            finished.append(Finished(invalid.namespace, invalid.name, INVALID, invalid.record.phase))
        noted = [_facts(*one, self._clock()) for one in running]
        families = Families([fleet.EXPERIMENTS])
        _sum_up(phases, families)
        series = Series(noted, finished, phases.total(), now=self._clock(), deadlines=self._deadlines, cap=self._cap)
        return [*families.collected(), series]


def _facts(plan: Plan, record: Record, known: Known, now: float) -> Facts | None:
    """What is to be written of an unfinished experiment; None if it cannot be read."""
    try:
        view = known.view
        roll = arrivals(plan, record, view, now) if record.phase is not Phase.SUSPENDED else None
        causes = by_cause(plan, record, view, roll.missing) if roll and roll.missing else {}
        counts = (roll.arrived, roll.missing, causes) if roll else None
        progress = view.progress_of(record.epoch) if record.gathering else None
        return Facts(plan, record, view.of(record.epoch).ready, counts, view.probe_result_of(record.epoch), progress)
    except Exception:  # noqa: BLE001 - one experiment must not cost the scrape of all
        return None


def _sum_up(phases: Counter[tuple[str, Phase]], families: Families) -> None:
    """One series for each phase of each operator seen; zeros too, so that a phase that empties is seen to do so."""
    sums: Counter[tuple[str, Phase]] = Counter()
    operators: dict[str, None] = {}
    for (operator, phase), count in phases.items():
        name = label(operator)
        name = name if name in operators or len(operators) < OPERATORS else OTHER
        operators[name] = None
        sums[name, phase] += count
    for operator in operators:
        for phase in Phase:
            families.add(fleet.EXPERIMENTS, {"operator": operator, "phase": phase.value}, sums[operator, phase])
