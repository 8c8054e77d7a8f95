"""Reads the progress reports of ranks from the store of their job, for the probe of that store.

The store is asked once every rank of the roll is past the rendezvous: every ``IDLE`` seconds until there is a report,
and then with each look, in large gangs no more often than the ranks write. Process 0 never spends more than ``LOAD`` of
its time on it. A busy machine answers late without much work, so a late answer delays the next look by at most
``MOST_REST`` seconds, or ten times its own duration: a gang that hangs there is still detected.

The values come from programs. One without the form of ``muster.api.progress`` is left out, and the others count. A pod
of several processes has a value for each, which make one report: with the step that all of them have reached.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Annotated, Generic, TypeVar

import msgspec

from muster.api.progress import (
    KEYS,
    MAX_PROCESSES,
    MAX_RESTARTS,
    MAX_SCALAR_NAME,
    MAX_SCALARS,
    MAX_STEP,
    MAX_VALUE,
    MAX_WORKS,
)
from muster.api.values.printable import printable
from muster.assist.mounted.place_watch import FASTEST, place_interval
from muster.state.view.lead import Spent
from muster.state.view.progress import StepReport
from muster.state.view.turns import A_TURN, Turns, batches
from muster.watchers.probes.bounded.connection import read_json

IDLE = 6.0
"""Seconds between two looks at a store without reports: most programs do not report."""
LOAD = 0.002
"""The share of its time for which process 0 may answer: 1.5 ms for a look every three seconds is a quarter of that."""
MOST_REST, REST_PER_LOOK = 12.0, 10

_Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_STEP)]
_Seconds = Annotated[float, msgspec.Meta(ge=0)]


class Value(msgspec.Struct):
    """The value that one process has written."""

    step: _Count
    calls: _Count = 1
    at: _Seconds = 0.0
    longest: _Seconds = 0.0
    pause: _Seconds = 0.0
    first: Annotated[int, msgspec.Meta(ge=-1, le=MAX_STEP)] = -1
    begun: _Seconds = -1.0
    saved: _Seconds = 0.0
    restored: _Seconds = 0.0
    loaded: _Seconds = 0.0
    paused: _Seconds = 0.0
    kind: str = ""
    scalars: dict[str, float] = {}
    works: Annotated[float, msgspec.Meta(ge=0, le=MAX_WORKS)] = 0.0
    processes: Annotated[int, msgspec.Meta(ge=1, le=MAX_PROCESSES)] = 1
    restarts: Annotated[int, msgspec.Meta(ge=0, le=MAX_RESTARTS)] = 0


_decoder = msgspec.json.Decoder(Value)


R = TypeVar("R")


class Paced(Generic[R]):
    """The pace of questions to a store, and the readings of the values of the last answer."""

    def __init__(self, read_value: Callable[[str, bytes], R], pause: float = IDLE) -> None:
        """``read_value`` reads a value of a key. ``pause`` is that between two looks at a store that has values."""
        self._read_value = read_value
        self._pause = pause
        self._due = 0.0
        self._known: dict[str, tuple[bytes, R]] = {}
        """The last readings, by key, with the bytes that they were read from."""

    @property
    def pause(self) -> float:
        """The seconds from the beginning of a look to the next: many if the store had nothing."""
        return self._pause if self._known else IDLE

    def due(self, now: float) -> bool:
        """Return True if it is time to ask, at ``now`` in monotonic seconds."""
        return now >= self._due

    def took(self, began: float, now: float) -> None:
        """Note the end of a look that began at ``began``, with an answer or without."""
        seconds = now - began
        rest = min(seconds / LOAD, max(MOST_REST, REST_PER_LOOK * seconds))
        self._due = max(now + rest, began + self.pause)

    def readings_in_turns(self, entries: Mapping[str, bytes], a_turn: int = A_TURN) -> Turns[list[R]]:
        """Return the readings of these values by their keys. An unchanged value is not read again."""
        known: dict[str, tuple[bytes, R]] = {}
        for batch in batches(entries.items(), a_turn):
            yield
            for key, value in batch:
                last = self._known.get(key)
                known[key] = last if last is not None and last[0] == value else (value, self._read_value(key, value))
        self._known = known
        yield
        return [reading for _, reading in known.values()]


class ReportReader(Paced[tuple[StepReport | None, int]]):
    """The reader of one store's reports, with the time of the next question. At most ``most`` ranks count.

    A reading is a report, and the number of processes in its pod.
    """

    def __init__(self, expected: int | None, most: int) -> None:
        self._most = most
        pace = place_interval(expected or 1)
        super().__init__(_report, pace if pace > FASTEST else 0.0)

    def read_now(self) -> None:
        """Ask with the next look, unless the store has no reports."""
        if self._known:
            self._due = 0.0

    def read_in_turns(self, entries: Mapping[str, bytes]) -> Turns[tuple[StepReport, ...]]:
        """Return the reports by rank, from values by their keys."""
        of_rank: dict[int, list[StepReport]] = defaultdict(list)
        for report, _ in (yield from self.readings_in_turns(entries)):
            if report is not None and report.rank < self._most:
                of_rank[report.rank].append(report)
        yield
        return tuple(_together(of_rank[rank]) for rank in sorted(of_rank))


def decoded(value: bytes) -> Value | None:
    """Return the value that a process has written; None if it does not have the right form."""
    if (sent := read_json(_decoder, value, MAX_VALUE)) is None:
        return None
    times = sent.at, sent.longest, sent.pause, sent.begun, sent.saved, sent.restored, sent.loaded, sent.paused
    return sent if all(map(isfinite, times)) else None


def report_of(rank: int, sent: Value) -> StepReport:
    """Return the report of that rank."""
    scalars = [(printable(name, MAX_SCALAR_NAME), each) for name, each in sent.scalars.items() if isfinite(each)]
    kind = printable(sent.kind, MAX_SCALAR_NAME)
    spent = Spent(sent.first, sent.begun, sent.saved, sent.restored, sent.loaded, sent.paused, kind, sent.restarts)
    return StepReport(
        rank, sent.step, sent.calls, sent.at, sent.longest, tuple(scalars[:MAX_SCALARS]), sent.pause, spent, sent.works
    )


def value_in(sent: object) -> Value | None:
    """Return the value of a process from JSON that is decoded already; None if it does not have the right form."""
    try:
        value = msgspec.convert(sent, Value)
    except msgspec.ValidationError:
        return None
    return value if isfinite(value.at) and isfinite(value.longest) and isfinite(value.pause) else None


def _report(key: str, value: bytes) -> tuple[StepReport | None, int]:
    rank, dot, process = key.removeprefix("/").removeprefix(f"{KEYS}/").partition(".")
    sent = decoded(value)
    if sent is None or not _number(rank) or (dot and not _number(process)):
        return None, 1
    return report_of(int(rank), sent), sent.processes


def _number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 7


def _together(reports: list[StepReport]) -> StepReport:
    """Return the report of a pod: the step that all of its processes have reached, and the sum of their reports.

    torchrun restarts all of them together: a report with a lower number of restarts is of a process that has ended.
    The times are those of the first one, so that they are always of the same one.
    """
    if len(reports) == 1:
        return reports[0]
    restarts = max(each.spent.restarts for each in reports)
    reports = [each for each in reports if each.spent.restarts == restarts]
    last = min(reports, key=lambda each: each.step)
    return last._replace(
        calls=sum(each.calls for each in reports),
        at=max(each.at for each in reports),
        longest=max(each.longest for each in reports),
        pause=max(each.pause for each in reports),
        spent=reports[0].spent,
    )
