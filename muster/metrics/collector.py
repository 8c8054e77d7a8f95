"""The experiments, read at scrape.

Nothing is stored per experiment, so nothing can leak: a scrape walks what the daemon knows at that moment. The walk
counts all experiments, and notes of as many as may fit what changes between two events of the loop; ``metrics.series``
writes that down in a thread.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from muster.api.goodput import micros
from muster.api.values.accelerators import USUAL, Accelerators, Devices, total
from muster.api.values.owners import Owners
from muster.metrics.catalogue import FRESH, INVALID, LEAN_RUNS, MOST_FRESH, OTHER, SERIES, WHOLE_RUNS
from muster.metrics.exposition import Families, LabelValues, label
from muster.metrics.rows import fleet
from muster.metrics.run_time import NOTHING, OPERATORS, RunTime
from muster.metrics.series import FEWEST, Facts, Finished, Profile, Series, is_well
from muster.rollcall.seats import arrivals
from muster.state.facts.context import Context, held
from muster.state.facts.diagnosis.classifier import by_cause
from muster.state.view.view import View
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import FINISHED, Phase, Record
from muster.state.vocabulary.wall_time import moved
from muster.tracking.entry import Entry

RESOURCES = 16
"""Values of the label resource: names beyond that are counted together."""

STATES = HELD, HELD_BY_STUCK = "held", "stuck"

NAMESPACES_NOW = 1_000
"""Values of the label namespace in families that are counted again in each scrape."""

KNOWN_DEVICES = 4096
"""Sums of devices that are kept; runs of one size hold the same."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One experiment as the daemon knows it at this moment."""

    plan: Plan
    record: Record
    view: View
    step: float = 0.0
    """Seconds by which the wall clock was set since the record was persisted."""
    pending_at: float | None = None
    """Time of the first status write that was decided, may have been carried out, and is not seen yet."""
    owners: Owners = ()

    def at(self, now: float) -> Context:
        """Return the experiment at a wall second."""
        return Context.at(self.plan, self.record, self.view, now)


Known = Subject | Entry
"""An experiment that is walked over; one without a record is passed over."""

_SUMS = (
    fleet.EXPERIMENTS,
    fleet.ACCELERATORS,
    fleet.NAMESPACE_EXPERIMENTS,
    fleet.NAMESPACE_STUCK,
    fleet.NAMESPACE_SECONDS,
    fleet.NAMESPACE_ACCELERATOR_SECONDS,
    fleet.NAMESPACE_ACCELERATOR_LOST,
    fleet.OWNER_ACCELERATOR_SECONDS,
    fleet.OWNER_ACCELERATOR_LOST,
)
_Running = tuple[Plan, Record, Known, Mapping[str, int]]


@dataclass(eq=False)
class ExperimentCollector(Collector):
    """The sums, and the series of as many experiments as fit."""

    known: Callable[[], Iterable[Known]]
    """Walked once per scrape, on the event loop."""
    clock: Callable[[], float]
    """Gives wall seconds."""
    cap: int = SERIES
    accelerators: Accelerators = USUAL
    labels: tuple[str, ...] = ()
    """The labels of owners, by their names in metrics."""
    _resources: dict[str, None] = field(default_factory=dict)
    """Names met, in the order in which they were."""
    _known_devices: dict[Devices, Mapping[str, int]] = field(default_factory=dict)
    """The accelerators among devices that were met."""

    def __post_init__(self) -> None:
        self._times = RunTime(self.labels)

    def changed(self, plan: Plan, old: Record | None, new: Record, owners: Owners = ()) -> None:
        """Count where the time of ``old`` went, which a record replaced, also between two scrapes."""
        parts = ((plan.devices.get(group.name, ()), group.size) for group in plan.groups) if new.finished else ()
        self._times.changed(plan, old, new, owners, self._named(total(parts)))

    def collect(self) -> Iterable[Family]:
        """Return the sums, and the series of as many experiments as fit."""
        phases: Counter[tuple[str, Phase]] = Counter()
        in_namespaces: Counter[tuple[str, Phase]] = Counter()
        stuck: list[_Running] = []
        waiting: list[_Running] = []
        well: list[_Running] = []
        unfinished = 0
        stuck_in: Counter[str] = Counter()
        devices: Counter[tuple[str, str]] = Counter()
        ended: list[Finished] = []
        most = self.cap // FEWEST + 1
        self._times.begin()
        now = self.clock()
        micros_now = micros(now)
        for each in self.known():
            plan, record = each.plan, each.record
            if record is None:
                continue
            phase, fresh = record.phase, now - record.phase_at < FRESH and len(ended) < MOST_FRESH
            if plan is None:
                if isinstance(each, Entry) and not each.unreadable:  # its spec cannot be planned
                    phases[INVALID, phase] += 1
                    if fresh:
                        ended.append(Finished(each.seen.namespace, each.title, INVALID, phase, owners=each.owners))
                continue
            phases[plan.operator, phase] += 1
            if phase in FINISHED:
                if fresh:
                    ended.append(Finished(plan.namespace, plan.title, plan.operator, phase, plan.engine, each.owners))
                continue
            accelerators = self._named(held(plan, each.view))
            if accelerators:
                self._sum(devices, record, accelerators)
            if each.step:
                record = moved(record, each.step)
            until = micros_now if each.pending_at is None else min(micros_now, micros(each.pending_at))
            self._times.count(plan, record, until, each.owners, accelerators)
            unfinished += 1
            in_namespaces[plan.namespace, phase] += 1
            if record.called_stuck is not None:
                stuck_in[plan.namespace] += 1
                if len(stuck) < most:
                    stuck.append((plan, record, each, accelerators))
            elif len(waiting) + len(well) < most:
                kept = well if is_well(plan, record, each.view, now) else waiting
                kept.append((plan, record, each, accelerators))
        self._times.end()
        # Of more than fit, those that are stuck come first: without series an experiment has no alert.
        lean = Profile.LEAN if unfinished <= LEAN_RUNS else Profile.LEANEST
        noted = [
            _facts(*one, now, lean if place >= WHOLE_RUNS else Profile.WHOLE)
            for place, one in enumerate((*stuck, *waiting)[:most])
        ]
        noted += [_facts(*one, now, lean, well=True) for one in well[: most - len(noted)]]
        families = Families(_SUMS)
        _sum_up(phases, families)
        _sum_up_namespaces(in_namespaces, stuck_in, families)
        for resource, state in product((*self._resources, *([OTHER] if (OTHER, HELD) in devices else ())), STATES):
            families.add(fleet.ACCELERATORS, {"resource": resource, "state": state}, devices[resource, state])
        for row, labels, seconds in self._times.read():
            families.add(row, labels, seconds)
        series = Series(noted, ended, unfinished, now=now, cap=self.cap)
        return [*families.collected(), series]

    def _named(self, devices: Devices) -> Mapping[str, int]:
        """Return the accelerators among devices, by a name that few have."""
        if not devices:
            return NOTHING
        if (known := self._known_devices.get(devices)) is not None:
            return known
        found: Counter[str] = Counter()
        for resource, number in self.accelerators.of(devices).items():
            name = label(resource)
            if len(self._resources) < RESOURCES:
                self._resources.setdefault(name)
            found[name if name in self._resources else OTHER] += number
        if len(self._known_devices) >= KNOWN_DEVICES:
            self._known_devices.clear()
        self._known_devices[devices] = found
        return found

    def _sum(self, devices: Counter[tuple[str, str]], record: Record, found: Mapping[str, int]) -> None:
        for name, number in found.items():
            devices[name, HELD] += number
            if record.called_stuck is not None:
                devices[name, HELD_BY_STUCK] += number


def _facts(
    plan: Plan,
    record: Record,
    known: Known,
    accelerators: Mapping[str, int],
    now: float,
    profile: Profile,
    *,
    well: bool = False,
) -> Facts | None:
    """Return what is to be written of an unfinished experiment; None if it cannot be read."""
    try:
        view, until = known.view, None if known.pending_at is None else min(known.pending_at, now)
        if well and profile is Profile.LEANEST:  # no rank is missing
            return Facts(
                plan, record, 0, None, None, None, accelerators, until, known.owners, profile=profile, well=True
            )
        roll = arrivals(plan, record, view, now) if record.phase is not Phase.SUSPENDED else None
        causes = by_cause(plan, record, view, roll.missing) if roll and roll.missing else {}
        counts = (roll.arrived, roll.missing, causes) if roll else None
        progress = view.progress_of(record.epoch) if record.gathering else None
        ready, probe = view.of(record.epoch).ready, view.probe_result_of(record.epoch)
        come = view.arrivals_of(record.epoch) if record.phase is Phase.RUNNING else None
        last = len(come.members) if come is not None and come.hold(now) else None
        return Facts(
            plan, record, ready, counts, probe, progress, accelerators, until, known.owners, last, profile, well
        )
    except Exception:  # noqa: BLE001 - one experiment must not cost the scrape of all
        return None


def _sum_up(phases: Counter[tuple[str, Phase]], families: Families) -> None:
    """Write a series for each phase of each operator seen, with zeros, so that an emptied phase is seen."""
    sums: Counter[tuple[str, Phase]] = Counter()
    names = LabelValues(OPERATORS)
    for (operator, phase), count in phases.items():
        sums[names.of(operator), phase] += count
    for operator in dict.fromkeys(name for name, _ in sums):
        for phase in Phase:
            families.add(fleet.EXPERIMENTS, {"operator": operator, "phase": phase.value}, sums[operator, phase])


def _sum_up_namespaces(phases: Counter[tuple[str, Phase]], stuck: Counter[str], families: Families) -> None:
    """Write how many runs of each namespace are in each phase, and how many of them are stuck."""
    names = LabelValues(NAMESPACES_NOW)
    counted: Counter[tuple[str, Phase]] = Counter()
    held_up: Counter[str] = Counter()
    for (namespace, phase), count in phases.items():
        counted[names.of(namespace), phase] += count
    held_up.update(dict.fromkeys((name for name, _ in counted), 0))
    for namespace, count in stuck.items():
        held_up[names.of(namespace)] += count
    for (name, phase), count in counted.items():
        families.add(fleet.NAMESPACE_EXPERIMENTS, {"namespace": name, "phase": phase.value}, count)
    for name, count in held_up.items():
        families.add(fleet.NAMESPACE_STUCK, {"namespace": name}, count)
