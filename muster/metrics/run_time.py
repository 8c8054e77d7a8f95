"""The time of all runs: counters by namespace, operator and bucket, and the same by accelerators held.

A run's own sums (``muster.api.goodput``) only grow, and follow from its record and the second. Whenever the runs are
walked over, what the sums of each have grown by is added to the counters of its namespace, and for each accelerator
that it holds to those of the accelerators, by namespace and by owner. So no figure of a namespace or of an owner
depends on which runs have series of their own, and a run of 4,096 accelerators that ended yesterday counts by what it
held then.

- A run that is met for the first time with a past begins at what its sums are then: another daemon has counted them.
- One that ends is counted to its end when that is persisted, so the time between two walks is not lost with it.
- What is taken back from the productive time (``taken_back``) is a counter beside it, because no counter falls.
- What is wasted of the accelerators' time is counted once more by what it was lost to. That of Stuck is what the run
  was Stuck for when it was met last; that of a recovery and of lost work is why the last epoch ended.
- Each counter begins at 0, when a run of its namespace, or the first that holds such an accelerator, is met. Prometheus
  does not count the value with which a series begins, and an hour of lost work comes as one step.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from types import MappingProxyType
from typing import Final

from muster.api.goodput import BADPUT, WASTED, Bucket, Goodput, micros
from muster.api.values.owners import Owners
from muster.metrics.catalogue import LOST_CAUSES, NAMESPACES, OTHER_CAUSE, lost_to
from muster.metrics.exposition import LabelValues
from muster.metrics.rows import fleet
from muster.metrics.rows.row import Metric
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Record

OPERATORS: Final = 32
"""Values of the label operator; there are five operators and a few other kinds."""
TAKEN_BACK: Final = "taken_back"
SUMS: Final = (Bucket.PRODUCTIVE.value, TAKEN_BACK, *(each.value for each in BADPUT))
"""The sums of a run, which are values of the label bucket."""

_figures_of = attrgetter(*SUMS)
_AT: Final = {name: at for at, name in enumerate(SUMS)}
_WITHOUT_NODES: Final = frozenset((_AT[Bucket.QUEUED], _AT[Bucket.SCHEDULING]))
"""Buckets in which the pods of a new run have no nodes yet."""
_WASTED: Final = frozenset(_AT[each] for each in WASTED)
_STUCK: Final = _AT[Bucket.STUCK]
_NEVER: Final = 1 << 62
NOTHING: Final[Mapping[str, int]] = MappingProxyType({})
Part = tuple[tuple[str, str], ...]
"""A part of the fleet, by its labels: namespace and operator, or the value of a label of owners."""


class _Held:
    """The milliseconds of accelerators that each part held, by bucket, and those that are wasted, by cause."""

    def __init__(self, seconds: Metric, lost: Metric) -> None:
        self._seconds, self._lost = seconds, lost
        self._ms: Counter[tuple[Part, str, int]] = Counter()
        self._lost_ms: Counter[tuple[Part, str, str]] = Counter()

    def open(self, part: Part, resource: str) -> None:
        """Begin the counters at 0 if there are none."""
        if (part, resource, 0) not in self._ms:
            self._ms.update({(part, resource, at): 0 for at in range(len(SUMS))})
            self._lost_ms.update({(part, resource, cause): 0 for cause in LOST_CAUSES})

    def add(self, part: Part, resource: str, at: int, ms: int, cause: str) -> None:
        """Count what a bucket has grown by; ``cause`` is what it was lost to, or empty."""
        self._ms[part, resource, at] += ms
        if cause:
            self._lost_ms[part, resource, cause] += ms

    def read(self) -> Iterator[tuple[Metric, dict[str, str], float]]:
        """Yield each series, with its labels, in seconds."""
        for (part, resource, at), ms in self._ms.items():
            yield self._seconds, {**dict(part), "resource": resource, "bucket": SUMS[at]}, ms / 1000
        for (part, resource, cause), ms in self._lost_ms.items():
            yield self._lost, {**dict(part), "resource": resource, "cause": cause}, ms / 1000


@dataclass(slots=True, eq=False)
class _Counted:
    """Counted part of one run: the sums that were read last, and the count of each."""

    key: Part
    owners: Owners
    walk: int
    """The walk in which it was met last."""
    held: Mapping[str, int] | None = None
    """None until the run is walked over."""
    figures: list[int] = field(default_factory=lambda: [0] * len(SUMS))
    stuck_for: str = ""
    """Reason of the last time that it was stuck."""
    sums: Goodput | None = None
    at: int = 0
    """Which of the figures grows by itself, because ``sums`` is in that bucket."""
    base: int = 0
    """Part of ``sums`` that belongs to that bucket."""
    since: int = 0
    """Up to when that is, in microseconds; more than any time where nothing is counted since."""

    def read(self, sums: Goodput) -> None:
        """Keep the sums that the next look may find again."""
        self.sums, self.at = sums, _AT.get(sums.bucket, _AT[Bucket.OTHER])
        self.base = getattr(sums, SUMS[self.at])
        self.since = micros(sums.counted_at) if sums.bucket else _NEVER


class RunTime:
    """The counters of the runs that this daemon looks after."""

    def __init__(self, labels: tuple[str, ...] = (), limit: int = NAMESPACES) -> None:
        """``labels`` are those of owners. ``limit`` bounds the namespaces, and the values of each label."""
        self._namespaces = LabelValues(limit)
        self._operators = LabelValues(OPERATORS)
        self._labels = {name: LabelValues(limit) for name in labels}
        self._runs: dict[str, _Counted] = {}
        self._walk = 0
        self._met = 0
        self._ms: Counter[tuple[Part, int]] = Counter()
        self._in_namespaces = _Held(fleet.NAMESPACE_ACCELERATOR_SECONDS, fleet.NAMESPACE_ACCELERATOR_LOST)
        self._of_owners = _Held(fleet.OWNER_ACCELERATOR_SECONDS, fleet.OWNER_ACCELERATOR_LOST)

    def begin(self) -> None:
        """Begin to walk over the runs."""
        self._walk += 1
        self._met = 0

    def count(self, plan: Plan, record: Record, now: int, owners: Owners, held: Mapping[str, int]) -> None:
        """Count a run until now, in microseconds. ``held`` is what it holds: it weighs the time until the next walk."""
        run, sums = self._runs.get(plan.uid), record.goodput
        if sums is None:
            return
        if held and (run is None or held != run.held or owners != run.owners):
            for resource in held:
                self._in_namespaces.open(self._key(plan), resource)
                for owner in self._parts(owners):
                    self._of_owners.open(owner, resource)
        if run is None:
            run = self._met_first(plan, owners)
            run.figures = _figures(sums, now)
            run.read(sums)
        elif run.sums is not sums:
            self._compare(run, record, sums, now, held if run.held is None else run.held)
        elif (ms := run.base + (now - run.since) // 1000) > run.figures[run.at]:
            self._grow(run, record, run.at, ms, held if run.held is None else run.held)
        run.held, run.owners, run.walk = held, owners, self._walk
        self._met += 1

    def end(self) -> None:
        """Forget the runs that were not met: they were deleted, or another daemon leads now."""
        if self._met < len(self._runs):
            for uid in [uid for uid, run in self._runs.items() if run.walk != self._walk]:
                del self._runs[uid]

    def changed(
        self, plan: Plan, old: Record | None, new: Record, owners: Owners = (), asked: Mapping[str, int] = NOTHING
    ) -> None:
        """Count a persisted record. A new run counts from its beginning, and one that has ended to its end.

        ``asked`` is what all of its pods ask for: it weighs a run that begins and ends between two walks.
        """
        sums, run = new.goodput, self._runs.get(plan.uid)
        if sums is None:
            return
        if new.finished:
            if run is not None:
                self._compare(run, new, sums, 0, run.held, asked)
                del self._runs[plan.uid]
        elif run is None and old is None:
            self._met_first(plan, owners).read(sums)

    def read(self) -> Iterator[tuple[Metric, dict[str, str], float]]:
        """Yield each series, with its labels, in seconds."""
        for (part, at), ms in self._ms.items():
            yield fleet.NAMESPACE_SECONDS, {**dict(part), "bucket": SUMS[at]}, ms / 1000
        yield from self._in_namespaces.read()
        yield from self._of_owners.read()

    def _compare(
        self,
        run: _Counted,
        record: Record,
        sums: Goodput,
        now: int,
        held: Mapping[str, int] | None,
        asked: Mapping[str, int] = NOTHING,
    ) -> None:
        for at, ms in enumerate(_figures(sums, now)):
            weights = held if held is not None else NOTHING if at in _WITHOUT_NODES else asked
            self._grow(run, record, at, ms, weights)
        run.read(sums)

    def _grow(self, run: _Counted, record: Record, at: int, ms: int, held: Mapping[str, int]) -> None:
        """Raise one sum of a run to so many milliseconds. What was counted too early is not counted again."""
        more = ms - run.figures[at]
        if more <= 0:
            return
        run.figures[at] = ms
        self._ms[run.key, at] += more
        if not held:
            return
        cause = _lost_to(run, record, at) if at in _WASTED else ""
        owners = self._parts(run.owners)
        for resource, number in held.items():
            self._in_namespaces.add(run.key, resource, at, more * number, cause)
            for owner in owners:
                self._of_owners.add(owner, resource, at, more * number, cause)

    def _met_first(self, plan: Plan, owners: Owners) -> _Counted:
        key = self._key(plan)
        for at in range(len(SUMS)):
            self._ms.setdefault((key, at), 0)
        run = self._runs[plan.uid] = _Counted(key, owners, self._walk)
        return run

    def _key(self, plan: Plan) -> Part:
        namespace, operator = self._namespaces.of(plan.namespace), self._operators.of(plan.operator)
        return ("namespace", namespace), ("operator", operator)

    def _parts(self, owners: Owners) -> list[Part]:
        """Return the owner by each label; it is empty where the run has no such label."""
        if not self._labels:
            return []
        values = dict(owners)
        return [
            (("label", name), ("owner", known.of(value) if (value := values.get(name)) else ""))
            for name, known in self._labels.items()
        ]


def _lost_to(run: _Counted, record: Record, at: int) -> str:
    """Return what the time of a bucket that has grown was lost to."""
    ended = lost_to(record.cause.reason) if record.cause is not None else OTHER_CAUSE
    if at != _STUCK:
        return ended
    if (stuck := record.called_stuck) is not None:
        run.stuck_for = lost_to(stuck.reason)
    return run.stuck_for or ended


def _figures(sums: Goodput, now: int) -> list[int]:
    """Return the sums at that microsecond."""
    figures = list(_figures_of(sums))
    if sums.bucket:
        passed = max(0, now - micros(sums.counted_at)) // 1000
        figures[_AT.get(sums.bucket, _AT[Bucket.OTHER])] += passed
    return figures
