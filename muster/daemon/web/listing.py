"""``/experiments.json``: the experiments that pass the filters of the page, in order of namespace and name, in pages.

A program walks over 100,000 experiments with ``after``. One answer costs a walk over all of them, in slices between
which the loop goes on. A parameter that is misspelled, or a value that there never is, is refused: the answer would be
the list of nothing, or of everything.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice
from operator import itemgetter

from muster.api.values.printable import WORD, printable
from muster.daemon.web.fleet import DIMENSIONS, SLICE, ClocksOf, Filters, says, shown_row, values_of
from muster.metrics.collector import Subject
from muster.rollcall.document import Listing
from muster.rollcall.hurts import hurts
from muster.state.summary.hurt import Hurt
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.record import Phase

SHOWN = 500
"""Experiments in a listing that names no limit."""
MOST = 1000
"""Experiments in any listing."""
LONGEST_KEY = 1000
"""Characters of ``after``: more than a namespace and a name have."""

CLOSED = {
    "problem": tuple(each.value for each in Hurt),
    "phase": tuple(each.value for each in Phase),
    "engine": tuple(each.value for each in Engine),
}
"""The filters whose values are known beforehand."""


class Misasked(ValueError):
    """The text says what is wrong with the query."""


@dataclass(frozen=True, slots=True)
class Query:
    """What was asked for. ``after`` is the key beyond which the page begins."""

    filters: Filters
    limit: int = SHOWN
    after: tuple[str, ...] = ()

    @classmethod
    def of(cls, parameters: Iterable[tuple[str, str]]) -> "Query":
        """The query of a request, from its names and values. Raises ``Misasked``."""
        known = (*Filters.__slots__, "limit", "after")
        query: dict[str, str] = {}
        for name, value in parameters:
            if name not in known:
                raise Misasked(f"{printable(name, WORD)} is no parameter of a listing; those are {', '.join(known)}.")
            if name in query:
                raise Misasked(f"{name} is stated more than once.")
            query[name] = value
        asked = query.get("limit", str(SHOWN))
        if not (asked.isascii() and asked.isdigit() and len(asked) <= 4 and 1 <= int(asked) <= MOST):
            raise Misasked(f"limit is a number from 1 to {MOST}.")
        filters = Filters.of(query)
        for name, values in CLOSED.items():
            if (stated := getattr(filters, name)) and stated not in values:
                raise Misasked(f"{name} is one of {', '.join(values)}.")
        after = query.get("after", "")
        if len(after) > LONGEST_KEY:
            raise Misasked("after is the value of that field in the listing before.")
        return cls(filters, int(asked), tuple(after.split("/", 1)) if after else ())


async def listing(subjects: Iterable[Subject], clocks: ClocksOf, now: float, query: Query) -> Listing:
    """The page of the listing that was asked for."""
    phases: Counter[str] = Counter()
    later: list[tuple[tuple[str, str], Subject]] = []
    matching = 0
    left = iter(subjects)
    wanted = [getattr(query.filters, name) for name in DIMENSIONS]
    text = query.filters.q.casefold()
    while batch := list(islice(left, SLICE)):
        for subject in batch:
            phases[subject.record.phase.value] += 1
            if (text and not says(subject, text)) or not _passes(subject, wanted, clocks, now):
                continue
            matching += 1
            key = (subject.plan.namespace, subject.plan.title)
            if key > query.after:
                later.append((key, subject))
        await asyncio.sleep(0)
    shown = await asyncio.to_thread(_first, query.limit, later)
    rows = []
    for number, (_, subject) in enumerate(shown):
        if number % SLICE == 0:
            await asyncio.sleep(0)
        if row := shown_row(subject, clocks, now):
            rows.append(row)
    return Listing(
        total=phases.total(),
        matching=matching,
        phases={phase.value: phases[phase.value] for phase in Phase},
        experiments=rows,
        after="/".join(printable(each, WORD) for each in shown[-1][0]) if len(shown) < len(later) else "",
    )


def _passes(subject: Subject, wanted: list[str], clocks: ClocksOf, now: float) -> bool:
    """What hurts is found out only where it is asked for: that costs most."""
    found: tuple[Hurt, ...] = ()
    if wanted[0]:
        try:
            found = hurts(subject.plan, subject.record, subject.view, clocks(subject.plan, subject.record), now)
        except Exception:  # noqa: BLE001 - as on the page
            found = ()
    return all(not value or value in values for value, values in zip(wanted, values_of(subject, found), strict=True))


def _first(limit: int, found: Iterable[tuple[tuple[str, str], Subject]]) -> list[tuple[tuple[str, str], Subject]]:
    return nsmallest(limit, found, key=itemgetter(0))
