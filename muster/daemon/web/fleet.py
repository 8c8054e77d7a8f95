"""The experiments that a page of the fleet shows, filtered, counted and the most urgent first; and their listing.

A filter is a query parameter, so that a filtered page is a link. The counts beside the values of one filter are of the
experiments that pass all the others: a click on the value shows as many.

``/experiments.json`` lists the experiments that pass the same filters, in order of namespace and name, in pages: a
program walks over 100,000 experiments with ``after``. A parameter that is misspelled, or a value that there never is,
is refused: the answer would be an empty list, or the list of everything.

One answer costs a walk over all experiments, in slices between which other tasks run.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from operator import itemgetter

import structlog

from muster.api.values.accelerators import USUAL, Accelerators
from muster.api.values.printable import WORD, printable
from muster.daemon.clocks import in_slices
from muster.daemon.web.readers import Refused
from muster.metrics.collector import Subject
from muster.rollcall.document import Listing, Summary
from muster.rollcall.make import hurts, summary
from muster.state.facts.context import held
from muster.state.facts.incidents.signs import Run
from muster.state.summary.hurt import IDLE, NOTHING, Hurt, place
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.record import Phase

log = structlog.get_logger()

SLICE = 200
"""Experiments that are walked over before other tasks may run."""
LONGEST_TEXT = 200
"""Most characters of a filter's value that are used."""
MOST_VALUES = 200
"""Most values of one filter that are offered: those with most experiments."""


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters that the reader asked for; an empty value passes everything."""

    problem: str = ""
    namespace: str = ""
    operator: str = ""
    engine: str = ""
    kind: str = ""
    phase: str = ""
    q: str = ""
    """Text that must be in the name, the namespace, the message or the reason, in any case."""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Filters":
        """Return the filters of a query; those that are not stated are empty."""
        return cls(**{name: printable(query.get(name, ""), LONGEST_TEXT) for name in cls.__slots__})

    def stated(self) -> dict[str, str]:
        """Return the filters that are not empty, by name."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name))}


DIMENSIONS = ("problem", "namespace", "operator", "engine", "kind", "phase")
"""The filters whose values are counted."""


async def shown_rows(subjects: Iterable[Subject], now: float) -> list[Summary]:
    """Return the rows of these experiments, without those that cannot be shown."""
    return [row async for subject in in_slices(subjects, SLICE) if (row := _row(subject, now))]


def _row(subject: Subject, now: float) -> Summary | None:
    """Return the row of one experiment; None, with a line in the log, if that raises: the others must be shown."""
    try:
        return summary(subject.at(now))
    except Exception:
        log.exception(
            "experiment left out of the page", namespace=subject.plan.namespace, experiment=subject.plan.title
        )
        return None


def _hurts(subject: Subject, now: float) -> tuple[Hurt, ...]:
    """Return what hurts an experiment; nothing if that raises: its row reports it, and the others must be shown."""
    try:
        return hurts(subject.plan, subject.record, subject.view, now)
    except Exception:  # noqa: BLE001 - whatever one experiment causes
        return ()


def values_of(subject: Subject, found: tuple[Hurt, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the values of an experiment for each of `DIMENSIONS`; ``found`` is what hurts it."""
    plan = subject.plan
    return (
        found,
        (printable(plan.namespace, LONGEST_TEXT),),
        (printable(plan.operator, LONGEST_TEXT),),
        (plan.engine.value,),
        (plan.subject.word,),
        (subject.record.phase.value,),
    )


def contains(subject: Subject, text: str) -> bool:
    """Return True if the text, in small letters, is part of the texts of a row."""
    plan, record = subject.plan, subject.record
    texts = (plan.title, plan.namespace, record.message, record.reason, plan.operator)
    return any(text in each.casefold() for each in texts)


@dataclass(frozen=True, slots=True)
class Fleet:
    """One page of rows, which begins at row ``begin`` of ``matching`` (from 0), out of ``total`` experiments."""

    rows: Sequence[Subject]
    begin: int
    matching: int
    total: int
    phases: Mapping[str, int]
    """Number of all experiments by phase, whatever the filters are."""
    counts: Mapping[str, Mapping[str, int]]
    """Number of experiments by filter and value: those with the value that pass all other filters."""
    passing: Mapping[str, int]
    """Number of experiments that pass all other filters, by filter."""


async def fleet(
    subjects: Iterable[Subject],
    now: float,
    filters: Filters,
    *,
    begin: int,
    limit: int,
    accelerators: Accelerators = USUAL,
    explained: Collection[Run] = (),
) -> Fleet:
    """Return one page of the experiments that pass, with the most idle accelerators first among equal problems.

    Runs that an incident explains follow those that have a problem of their own: nothing is to be done about them.
    ``subjects`` must allow other tasks to run while it is walked.
    """
    walk = _Walk(filters, now, accelerators, explained)
    async for subject in in_slices(subjects, SLICE):
        walk.take(subject)
    return await asyncio.to_thread(walk.page, begin, limit)


class _Walk:
    def __init__(self, filters: Filters, now: float, accelerators: Accelerators, explained: Collection[Run]) -> None:
        self._accelerators = accelerators
        self._explained = explained
        self._now = now
        self._text = filters.q.casefold()
        self._wanted = [getattr(filters, name) for name in DIMENSIONS]
        self._counts: list[Counter[str]] = [Counter() for _ in DIMENSIONS]
        self._passing: Counter[str] = Counter()
        self._phases: Counter[str] = Counter()
        self._found: dict[tuple[bool, bool, int], list[tuple[tuple[int, float, str, str], Subject]]] = {}
        """Experiments by three keys: whether nothing hurts, whether an incident explains it, and its place."""

    def take(self, subject: Subject) -> None:
        """Count one experiment; keep it if it passes."""
        plan, record = subject.plan, subject.record
        phase = record.phase.value
        self._phases[phase] += 1
        if self._text and not contains(subject, self._text):
            return
        found = _hurts(subject, self._now)
        values = values_of(subject, found)
        failing = [i for i, wanted in enumerate(self._wanted) if wanted and wanted not in values[i]]
        if len(failing) > 1:
            return
        for i in failing or range(len(DIMENSIONS)):
            self._passing[DIMENSIONS[i]] += 1
            for value in values[i]:
                self._counts[i][value] += 1
        if not failing:
            at = -record.phase_at if record.finished else record.phase_at  # the longest problem, or the last end, first
            where = place(record, found, self._now)
            explained = Hurt.HUNG not in found and Run(plan.namespace, plan.title) in self._explained
            here = self._found.setdefault((where >= NOTHING, explained, where), [])
            idle = self._accelerators.count(held(plan, subject.view)) if IDLE & set(found) else 0
            here.append(((-idle, at, plan.namespace, plan.title), subject))

    def page(self, begin: int, limit: int) -> Fleet:
        """Return the page of what was found."""
        counts: dict[str, Mapping[str, int]] = {}
        for name, wanted, counter in zip(DIMENSIONS, self._wanted, self._counts, strict=True):
            counts[name] = dict(counter.most_common(MOST_VALUES))
            if wanted and wanted not in counts[name]:
                counts[name] = {**counts[name], wanted: counter[wanted]}
        return Fleet(
            rows=list(self._rows(begin, begin + limit)),
            begin=begin,
            matching=sum(map(len, self._found.values())),
            total=self._phases.total(),
            phases={phase.value: self._phases[phase.value] for phase in Phase},
            counts=counts,
            passing=self._passing,
        )

    def _rows(self, begin: int, end: int) -> Iterator[Subject]:
        """Yield the experiments from number ``begin`` to ``end``; only the places that contain them are sorted."""
        for _, rows in sorted(self._found.items()):
            if begin < len(rows) and end > 0:
                yield from (row for _, row in nsmallest(end, rows, key=itemgetter(0))[begin:])
            begin, end = max(0, begin - len(rows)), max(0, end - len(rows))


SHOWN = 500
"""Experiments in a listing without a limit in its query."""
MOST = 1000
"""Most experiments in any listing."""
LONGEST_KEY = 1000
"""Most characters of ``after``: more than a namespace and a name have."""

CLOSED = {
    "problem": tuple(each.value for each in Hurt),
    "phase": tuple(each.value for each in Phase),
    "engine": tuple(each.value for each in Engine),
}
"""The filters with a closed list of values."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query for a listing. ``after`` is the key beyond which the page begins."""

    filters: Filters
    limit: int = SHOWN
    after: tuple[str, ...] = ()

    @classmethod
    def of(cls, parameters: Iterable[tuple[str, str]]) -> "Query":
        """Return the query of a request, from its names and values. Raises ``Refused``."""
        known = (*Filters.__slots__, "limit", "after")
        query: dict[str, str] = {}
        for name, value in parameters:
            if name not in known:
                what = f"{printable(name, WORD)} is no parameter of a listing"
                raise Refused(400, f"{what}; those are {', '.join(known)}.")
            if name in query:
                raise Refused(400, f"{name} is stated more than once.")
            query[name] = value
        asked = query.get("limit", str(SHOWN))
        if not (asked.isascii() and asked.isdigit() and len(asked) <= 4 and 1 <= int(asked) <= MOST):
            raise Refused(400, f"limit is a number from 1 to {MOST}.")
        filters = Filters.of(query)
        for name, values in CLOSED.items():
            if (stated := getattr(filters, name)) and stated not in values:
                raise Refused(400, f"{name} is one of {', '.join(values)}.")
        after = query.get("after", "")
        if len(after) > LONGEST_KEY:
            raise Refused(400, "after is the value of that field in the listing before.")
        return cls(filters, int(asked), tuple(after.split("/", 1)) if after else ())


async def listing(subjects: Iterable[Subject], now: float, query: Query) -> Listing:
    """Return the page of the listing that the query asks for."""
    phases: Counter[str] = Counter()
    later: list[tuple[tuple[str, str], Subject]] = []
    matching = 0
    wanted = [getattr(query.filters, name) for name in DIMENSIONS]
    text = query.filters.q.casefold()
    async for subject in in_slices(subjects, SLICE):
        phases[subject.record.phase.value] += 1
        if (text and not contains(subject, text)) or not _passes(subject, wanted, now):
            continue
        matching += 1
        key = (subject.plan.namespace, subject.plan.title)
        if key > query.after:
            later.append((key, subject))
    shown = await asyncio.to_thread(lambda: nsmallest(query.limit, later, key=itemgetter(0)))
    return Listing(
        total=phases.total(),
        matching=matching,
        phases={phase.value: phases[phase.value] for phase in Phase},
        experiments=await shown_rows((subject for _, subject in shown), now),
        after="/".join(printable(each, WORD) for each in shown[-1][0]) if len(shown) < len(later) else "",
    )


def _passes(subject: Subject, wanted: list[str], now: float) -> bool:
    """Return True if the experiment passes. Its problems are computed only for a filter on them: that costs most."""
    found = _hurts(subject, now) if wanted[0] else ()
    return all(not value or value in values for value, values in zip(wanted, values_of(subject, found), strict=True))
