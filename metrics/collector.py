"""The experiments, read at scrape.

Nothing is stored per experiment, so nothing can leak: a scrape walks what the daemon knows at that moment. Three things
keep a hostile or merely huge cluster from hurting the scrape. At most ``cap`` series are made, unfinished experiments
first, and an experiment has all of its series or none. Label values are made printable, and an experiment whose labels
then equal another's is left out, because Prometheus rejects duplicates. An experiment that cannot be read is left out
alone. Experiments that are left out are counted by reason in ``muster_experiments_unreported``.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from muster.metrics import catalogue
from muster.metrics.arrivals import arrivals
from muster.metrics.catalogue import INVALID, OTHER, SERIES
from muster.metrics.exposition import Families, label
from muster.metrics.row import Metric
from muster.state.plan import Plan
from muster.state.record import ConditionType, Phase, Record
from muster.state.rules import ClockName
from muster.state.view.view import View

OPERATORS = 32
"""Values of the label operator in the sums; there are five operators and a few foreign kinds."""

NOT_STUCK = "NotStuck"

Deadlines = Callable[[Plan, Record], Mapping[ClockName, float]]
"""The running clocks of an experiment and the wall second each runs out."""

_REASONS = ("cap", "duplicate", "unreadable")
_ROWS = (
    catalogue.EXPERIMENTS,
    catalogue.INFO,
    catalogue.RANKS_EXPECTED,
    catalogue.RANKS_ARRIVED,
    catalogue.RANKS_MISSING,
    catalogue.MEMBERS_READY,
    catalogue.EPOCH,
    catalogue.COORDINATOR_STATE,
    catalogue.COORDINATOR_LATENCY,
    catalogue.STUCK,
    catalogue.CLOCK_REMAINING,
    catalogue.UNREPORTED,
)

_Series = tuple[Metric, Mapping[str, str], float]


@dataclass(frozen=True, slots=True)
class Subject:
    """One experiment as the daemon knows it at this moment."""

    plan: Plan
    record: Record
    view: View


@dataclass(frozen=True, slots=True)
class Invalid:
    """An experiment that has ended because its spec cannot be planned."""

    namespace: str
    name: str
    record: Record


class ExperimentCollector(Collector):
    """``clock`` gives wall seconds; ``subjects`` is walked once per scrape, on the scraper's thread of execution.

    ``invalid`` gives the experiments without a plan.
    """

    def __init__(
        self,
        subjects: Callable[[], Iterable[Subject]],
        clock: Callable[[], float],
        deadlines: Deadlines,
        cap: int = SERIES,
        *,
        invalid: Callable[[], Iterable[Invalid]] = tuple,
    ) -> None:
        self._subjects = subjects
        self._invalid = invalid
        self._clock = clock
        self._deadlines = deadlines
        self._cap = cap

    def collect(self) -> Iterable[Family]:
        """The sums, and the series of as many experiments as fit."""
        families = Families(_ROWS)
        phases: Counter[tuple[str, Phase]] = Counter()
        running: list[Subject] = []
        finished: list[Subject | Invalid] = []
        for subject in self._subjects():
            phases[subject.plan.operator, subject.record.phase] += 1
            (finished if subject.record.finished else running).append(subject)
        for invalid in self._invalid():
            phases[INVALID, invalid.record.phase] += 1
            finished.append(invalid)
        _sum_up(phases, families)
        self._each(chain(running, finished), len(running) + len(finished), families)
        return families.collected()

    def _each(self, subjects: Iterable[Subject | Invalid], total: int, families: Families) -> None:
        unreported: Counter[str] = Counter()
        taken: set[tuple[str, str]] = set()
        now = self._clock()
        room = self._cap
        reached = 0
        for subject in subjects:
            try:
                of = subject if isinstance(subject, Invalid) else subject.plan
                names = label(of.namespace), label(of.name)
                series = list(_series(subject, names, now, self._deadlines))
            except Exception:  # noqa: BLE001 - one experiment must not cost the scrape of all
                reached += 1
                unreported["unreadable"] += 1
                continue
            if len(series) > room:
                break
            reached += 1
            if names in taken:
                unreported["duplicate"] += 1
                continue
            taken.add(names)
            room -= len(series)
            for row, labels, value in series:
                families.add(row, labels, value)
        unreported["cap"] = total - reached
        for reason in _REASONS:
            families.add(catalogue.UNREPORTED, {"reason": reason}, unreported[reason])


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
            families.add(catalogue.EXPERIMENTS, {"operator": operator, "phase": phase.value}, sums[operator, phase])


def _series(subject: Subject | Invalid, names: tuple[str, str], now: float, deadlines: Deadlines) -> Iterator[_Series]:
    one = {"namespace": names[0], "experiment": names[1]}
    if isinstance(subject, Invalid):
        yield catalogue.INFO, {**one, "operator": INVALID, "phase": subject.record.phase.value}, 1.0
        return
    plan, record, view = subject.plan, subject.record, subject.view
    yield catalogue.INFO, {**one, "operator": label(plan.operator), "phase": record.phase.value}, 1.0
    if record.finished:
        return
    if record.phase is not Phase.SUSPENDED:
        yield catalogue.RANKS_EXPECTED, one, float(plan.size)
        if roll := arrivals(plan, record, view):
            yield catalogue.RANKS_ARRIVED, one, float(roll.arrived)
            yield catalogue.RANKS_MISSING, one, float(roll.missing)
    yield catalogue.MEMBERS_READY, one, float(view.of(record.epoch).ready)
    yield catalogue.EPOCH, one, float(record.epoch)
    if standing := view.probe_result_of(record.epoch):
        answer = standing.answer
        yield catalogue.COORDINATOR_STATE, {**one, "state": answer.coordinator.value}, 1.0
        yield catalogue.COORDINATOR_LATENCY, one, float(answer.latency)
    stuck = record.condition(ConditionType.STUCK)
    reason = label(stuck.reason) if stuck and stuck.reason else NOT_STUCK
    yield catalogue.STUCK, {**one, "reason": reason}, float(bool(stuck and stuck.status))
    for clock, end in deadlines(plan, record).items():
        yield catalogue.CLOCK_REMAINING, {**one, "clock": clock.value}, float(end - now)
