"""The series of the experiments in one scrape, written as text.

There are about 80 for each experiment in trouble, 25 or 9 for one that is well, and 2 for one that has ended, so this
is most of a scrape. A state set is written from a template, in which only the labels that name the experiment are
filled in. The labels of a line are in alphabetical order, as prometheus_client has them, but those of owners follow
``namespace``.

At most ``cap`` lines are written, and an experiment has all of its lines or none. Label values are made printable, and
an experiment whose labels then equal another's is left out, because Prometheus rejects duplicates. An experiment that
cannot be read is left out alone. Those that are left out are counted by reason, but not those that have ended.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from itertools import chain, product
from types import MappingProxyType
from typing import NamedTuple

from muster.api.goodput import BADPUT, Basis, Bucket, Goodput, badput_of
from muster.api.values.owners import Owners
from muster.metrics.catalogue import SETTLED
from muster.metrics.exposition import Block, quoted, reason
from muster.metrics.rows import experiment as rows
from muster.metrics.rows.row import Lean, Metric
from muster.state.facts.audience import of_reason
from muster.state.facts.causes.cause import MissingCause
from muster.state.facts.causes.table import COUNTED
from muster.state.facts.hang import HANGS
from muster.state.policies.deadline import running
from muster.state.policies.failures.restart_reasons import EXPORTED as RESTART_REASONS
from muster.state.policies.failures.restart_reasons import by_reason
from muster.state.view.probe_result import ProbeResult
from muster.state.view.progress import Progress
from muster.state.view.roll import CoordinatorState
from muster.state.view.view import View
from muster.state.vocabulary.plan import Engine, Plan
from muster.state.vocabulary.record import Condition, ConditionType, Phase, Record
from muster.state.vocabulary.rules import ClockAction, ClockName


class Profile(IntEnum):
    """Extent of the series of one run, so that a fleet costs what its troubles cost.

    Up to ``WHOLE_RUNS`` runs that are not well have all of their series, zeros too, so that no query meets a gap while
    people look at them. One that is well has no more than it shows: of what is one of several (phase, state, cause,
    reason) only what holds. Where more than ``LEAN_RUNS`` run, it has only the rows that are ``lean``: no alert and no
    rule reads anything else.
    """

    WHOLE = 0
    """Every row, with zeros."""
    LEAN = 1
    """Every row. A row that is one of several has no zeros."""
    LEANEST = 2
    """Series that alerts and rules read."""


def is_well(plan: Plan, record: Record, view: View, now: float) -> bool:
    """Return whether the run has all of its ranks, and has been at work and not Stuck for ``SETTLED`` seconds."""
    if record.phase is not Phase.RUNNING or now - record.phase_at < SETTLED:
        return False
    stuck = record.condition(ConditionType.STUCK)
    if stuck is not None and (stuck.status or now - stuck.since < SETTLED):
        return False
    found = view.probe_result_of(record.epoch)
    if found is not None and (not found.serving or found.missing):
        return False
    pods = view.of(record.epoch)
    return pods.ready + pods.succeeded >= plan.size


REASONS = ("cap", "duplicate", "unreadable")
"""Why an experiment has no series of its own."""

FEWEST, OF_FINISHED = 6, 2
"""An unfinished experiment has at least so many lines, and a finished one its info and the phase in which it ended."""

_HARMLESS = str.maketrans({"<": "(", ">": ")", "&": "+", "@": " ", "`": "'", "*": " ", "/": " "})
"""Replacements for mentions, links and markup of chats, in the names of a program's functions and files."""

Causes = Mapping[MissingCause, int]


class Facts(NamedTuple):
    """Facts of an unfinished experiment, as it was at the look. ``ready`` counts pods."""

    plan: Plan
    record: Record
    ready: int
    roll: tuple[int, int, Causes] | None
    """Arrived and missing ranks, and the missing ones by cause; None where they are not known, or not wanted."""
    probe: ProbeResult | None
    progress: Progress | None = None
    accelerators: Mapping[str, int] = MappingProxyType({})
    """Accelerators that its pods hold, by resource."""
    until: float | None = None
    """Up to when time is counted, while a status that counts more is being written; None is now."""
    owners: Owners = ()
    last: int | None = None
    """Number of ranks that come last to collectives; None: not known."""
    profile: Profile = Profile.WHOLE
    well: bool = False


class Finished(NamedTuple):
    """Facts of a finished experiment."""

    namespace: str
    name: str
    operator: str
    phase: Phase
    engine: Engine = Engine.NATIVE
    owners: Owners = ()


_often = lru_cache(4096)(quoted)
"""Quoted namespaces and operators, which many experiments share."""
_reason = lru_cache(4096)(reason)
"""Quoted reasons."""


class _Set(NamedTuple):
    """Lines of what is one of several, with NUL in place of the labels that name the experiment."""

    held: str
    """The line of the value that holds; empty where none does."""
    every: str
    """The lines of all values."""
    number: int


class _Text:
    """One experiment: its lines by row, and how many they are."""

    __slots__ = ("chunks", "count", "names", "profile", "rows")

    def __init__(self, namespace: str, name: str, profile: Profile = Profile.WHOLE) -> None:
        self.profile = profile
        self.names = f'experiment="{quoted(name)}",namespace="{_often(namespace)}"'
        self.rows: list[str] = []
        self.chunks: list[str] = []
        """Lines of each of the rows. Two lists: 100,000 pairs would wake the garbage collector."""
        self.count = 0

    def add(self, row: Metric, value: float) -> None:
        """Add a line without other labels."""
        if value or self.profile is not Profile.LEANEST or row.lean is not Lean.NOT_ZERO:
            self.add_one(row, "", "", value)

    def add_one(self, row: Metric, before: str, after: str, value: float) -> None:
        """Add a line with more labels, before and after those that name the experiment."""
        self._append(row, f"{row.name}{{{before}{self.names}{after}}} {float(value)!r}\n", 1)

    def add_set(self, row: Metric, lines: _Set) -> None:
        """Add all lines of a set, or the one of the value that holds."""
        if not self.profile:
            self._append(row, lines.every.replace("\0", self.names), lines.number)
        elif lines.held:
            self._append(row, lines.held.replace("\0", self.names), 1)

    def add_counts(self, row: Metric, counts: Iterable[tuple[str, str, float]]) -> None:
        """Add a line for each of these: what it begins and ends with, and its value."""
        if self.profile:
            counts = [each for each in counts if each[2]]
        lines = [f"{begin}{self.names}{end}{float(value)!r}\n" for begin, end, value in counts]
        self._append(row, "".join(lines), len(lines))

    def _append(self, row: Metric, lines: str, count: int) -> None:
        self.rows.append(row.name)
        self.chunks.append(lines)
        self.count += count


@dataclass(eq=False)
class Series(Block):
    """The lines of the ``running`` experiments, then of the ``finished`` ones. ``total`` counts all that run."""

    running: Iterable[Facts | None]
    """None is for an experiment that could not be read."""
    finished: Iterable[Finished]
    total: int
    now: float
    cap: int

    def __post_init__(self) -> None:
        super().__init__()

    def written(self) -> Iterator[tuple[Metric, Iterable[str]]]:
        """Yield each row with its lines, and last how many experiments have none."""
        lines: dict[str, list[str]] = {row.name: [] for row in rows.ROWS}
        unreported = self._write(lines)
        for row in rows.ROWS:
            yield row, lines[row.name]
        name = rows.UNREPORTED.name
        yield rows.UNREPORTED, [f'{name}{{reason="{reason}"}} {float(unreported[reason])!r}\n' for reason in REASONS]

    def _write(self, lines: dict[str, list[str]]) -> Counter[str]:
        unreported: Counter[str] = Counter()
        taken: set[str] = set()
        room, reached = self.cap, 0
        for facts in chain(self.running, self.finished):
            over = isinstance(facts, Finished)
            try:
                text = _finished(facts) if isinstance(facts, Finished) else _running(facts, self.now)
            except Exception:  # noqa: BLE001 - one experiment must not cost the scrape of all
                reached += not over
                unreported["unreadable"] += 1
                continue
            if text.count > room:
                break
            reached += not over
            if text.names in taken:
                unreported["duplicate"] += 1
                continue
            taken.add(text.names)
            room -= text.count
            for name, chunk in zip(text.rows, text.chunks, strict=True):
                lines[name].append(chunk)
        unreported["cap"] = self.total - reached
        return unreported


def _info(text: _Text, operator: str, engine: Engine, owners: Owners) -> None:
    labels = "".join(f',{name}="{quoted(value)}"' for name, value in owners)
    text.add_one(rows.INFO, f'engine="{engine}",', f'{labels},operator="{_often(operator)}"', 1.0)


def _finished(facts: Finished) -> _Text:
    text = _Text(facts.namespace, facts.name)
    _info(text, facts.operator, facts.engine, facts.owners)
    text.add_one(rows.PHASE, "", f',phase="{facts.phase}"', 1.0)
    return text


def _running(facts: Facts | None, now: float) -> _Text:
    if facts is None:
        raise ValueError("unreadable")
    plan, record, profile, roll, probe = facts.plan, facts.record, facts.profile, facts.roll, facts.probe
    text = _Text(plan.namespace, plan.title, profile)
    _info(text, plan.operator, plan.engine, facts.owners)
    text.add_set(rows.PHASE, _PHASES[record.phase])
    if profile and not facts.well and record.phase is not Phase.ASSEMBLING:  # MusterAssemblyOverdue reads this zero
        text.add_one(rows.PHASE, "", f',phase="{Phase.ASSEMBLING}"', 0.0)
    if roll is not None and record.phase is not Phase.SUSPENDED:
        _missing(text, roll[1], roll[2])
        named = probe.missing if probe is not None else record.roll.missing if record.roll else ()
        if named and roll[1]:
            text.add(rows.FIRST_MISSING_RANK, named[0])
    for resource, count in facts.accelerators.items():
        text.add_one(rows.ACCELERATORS, "", f',resource="{_often(resource)}"', count)
    if probe is not None and not (profile is Profile.LEANEST and probe.serving):
        text.add_set(rows.COORDINATOR_STATE, _STATES[probe.answer.coordinator])
    _stuck(text, record, well=facts.well)
    for clock, end in running(plan, record):
        one = f'clock="{clock.name}",'
        text.add_one(rows.CLOCK_REMAINING, one, "", end - now)
        text.add_set(rows.CLOCK_ACTION, _ACTIONS[clock.name, clock.action])
        text.add_one(rows.CLOCK_LIMIT, one, "", clock.after)
    text.add(rows.GANG_RESTARTS, record.gang_restarts)
    text.add(rows.DISRUPTIONS, record.disruptions)
    _restarts(text, record)
    sums = (record.goodput or Goodput()).at(now if facts.until is None else facts.until)
    text.add(rows.WALL, sums.wall / 1000)
    text.add(rows.PRODUCTIVE, sums.productive / 1000)
    text.add(rows.TAKEN_BACK, sums.taken_back / 1000)
    if profile is not Profile.LEANEST:
        _more(text, facts, sums)
    return text


def _more(text: _Text, facts: Facts, sums: Goodput) -> None:
    """Write what neither alerts nor rules read."""
    record, probe, progress, last = facts.record, facts.probe, facts.progress, facts.last
    if record.phase is not Phase.SUSPENDED:
        text.add(rows.RANKS_EXPECTED, facts.plan.size)
        if facts.roll is not None:
            text.add(rows.RANKS_ARRIVED, facts.roll[0])
    text.add(rows.MEMBERS_READY, facts.ready)
    text.add(rows.EPOCH, record.epoch)
    if probe is not None:
        text.add(rows.COORDINATOR_UP, probe.serving)
        text.add(rows.COORDINATOR_LATENCY, probe.answer.latency)
    text.add(rows.CONTAINER_RESTARTS, record.in_place.count if record.in_place is not None else 0)
    badput = zip(_BADPUT, badput_of(sums), strict=True)
    text.add_counts(rows.BADPUT, ((begin, end, ms / 1000) for (begin, end), ms in badput))
    text.add_set(rows.BASIS, _BASES[Basis.PHASE if record.steps is None else Basis.STEPS])
    if sums.queued or sums.bucket == Bucket.QUEUED:
        text.add(rows.QUEUED, sums.queued / 1000)
    if progress is not None:
        _progress(text, progress)
    if progress is not None or last is not None:
        text.add(rows.STRAGGLER_RANKS, max(progress.straggling if progress else 0, last or 0))


def _progress(text: _Text, progress: Progress) -> None:
    text.add(rows.STEP, progress.step)
    if progress.rate is not None:
        text.add(rows.STEPS_PER_SECOND, progress.rate)
    text.add(rows.LAST_STEP, progress.moved_at)
    text.add(rows.HUNG_AFTER, progress.patience)


def _missing(text: _Text, missing: int, causes: Causes) -> None:
    text.add(rows.RANKS_MISSING, missing)
    if causes:
        counts = ((begin, "} ", causes.get(cause, 0)) for cause, begin in _CAUSES)
        text.add_counts(rows.RANKS_MISSING_BY_CAUSE, counts)
    else:
        text.add_set(rows.RANKS_MISSING_BY_CAUSE, _NO_CAUSES)


def _restarts(text: _Text, record: Record) -> None:
    """Write all reasons from the beginning, so that the first restart is an increase to a query."""
    counts = by_reason(record)
    if not counts:
        text.add_set(rows.RESTARTS, _NO_RESTARTS)
    else:
        begin = f"{rows.RESTARTS.name}{{"
        text.add_counts(rows.RESTARTS, ((begin, f',reason="{why}"}} ', count) for why, count in counts.items()))


def _stuck(text: _Text, record: Record, *, well: bool) -> None:
    """Write the condition Stuck, and every reason in the story; of a run that is well no zeros."""
    stuck = record.called_stuck
    text.add(rows.STUCK, stuck is not None)
    if stuck is not None:
        text.add(rows.STUCK_SINCE, stuck.since)
        if stuck.reason in HANGS:  # the message has names out of the program, and no age
            message = quoted(stuck.message.translate(_HARMLESS))
            text.add_one(rows.HANG, "", f',message="{message}"', 1.0)
    for why in _reasons(record, stuck):
        value = stuck is not None and why == _reason(stuck.reason)
        if value or not well:
            text.add_one(rows.STUCK_REASON, f'audience="{of_reason(why)}",', f',reason="{why}"', value)


def _reasons(record: Record, stuck: Condition | None) -> dict[str, None]:
    """Return the reasons in the order in which they came, each once."""
    reasons = dict.fromkeys(_reason(line.about) for line in record.story if line.reason == "Stuck")
    if stuck is not None:
        reasons[_reason(stuck.reason)] = None
    return reasons


def _set(row: Metric, before: str, after: str, values: Iterable[str], chosen: str = "") -> _Set:
    """Return the lines of all values of a label, which comes before or after those that name the experiment."""
    lines = {
        value: f"{row.name}{{{before.format(value)}\0{after.format(value)}}} {float(value == chosen)!r}\n"
        for value in values
    }
    return _Set(lines.get(chosen, ""), "".join(lines.values()), len(lines))


_BADPUT = tuple((f"{rows.BADPUT.name}{{", f',source="{each.value}"}} ') for each in BADPUT)
_BASES = {chosen: _set(rows.BASIS, 'basis="{}",', "", Basis, chosen) for chosen in Basis}
_PHASES = {chosen: _set(rows.PHASE, "", ',phase="{}"', Phase, chosen) for chosen in Phase}
_STATES = {
    chosen: _set(rows.COORDINATOR_STATE, "", ',state="{}"', CoordinatorState, chosen) for chosen in CoordinatorState
}
_ACTIONS = {
    (clock, chosen): _set(rows.CLOCK_ACTION, f'action="{{}}",clock="{clock.value}",', "", ClockAction, chosen)
    for clock, chosen in product(ClockName, ClockAction)
}
_CAUSES = tuple((cause, f'{rows.RANKS_MISSING_BY_CAUSE.name}{{cause="{cause}",') for cause in COUNTED)
_NO_CAUSES = _set(rows.RANKS_MISSING_BY_CAUSE, 'cause="{}",', "", (cause.value for cause in COUNTED))
_NO_RESTARTS = _set(rows.RESTARTS, "", ',reason="{}"', RESTART_REASONS)
