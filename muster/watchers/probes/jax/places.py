"""Reads the places of ranks from the job's key-value store (``muster.api.places``).

All values are one directory of the store, so a look takes one call, which only reads, at the pace at which the ranks
write. If at least half of the ranks are at a standstill, a stack of each kind is read too, by a call of its own and
once: ``MOST_STACKS`` of at most ``MAX_STACK`` bytes, in a gang of any size. A call without an answer is made again.

The values come from programs. One that does not have the form of ``muster.api.places`` is left out, and the others
count.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from math import inf, isfinite
from typing import Annotated

import msgspec

from muster.api.places import (
    MAX_FILE,
    MAX_FRAMES,
    MAX_NAME,
    MAX_STACK,
    MAX_VALUE,
    NOTICE,
    PLACES,
    STACKS,
    WORK,
    place_interval,
)
from muster.api.values.printable import bare, printable
from muster.state.view.places import PlaceReport
from muster.state.view.turns import Turns
from muster.watchers.probes.bounded.connection import in_turns, read_json
from muster.watchers.probes.bounded.grpc import NoAnswer
from muster.watchers.probes.jax.rpc import Malformed
from muster.watchers.probes.jax.task_list import entries_in_turns, most_tasks, read_entries
from muster.watchers.probes.reports import Paced

MOST_STACKS = 8
"""Most stacks that are read in a look, and kept."""
_WRITTEN = NOTICE + 0.2
"""Seconds from which a rank's stack exists. ``at`` and ``since`` are rounded to 0.1 s: at a reported ``NOTICE`` the
standstill may be shorter, and the stack may be missing, or be that of an earlier place."""

_Seconds = Annotated[float, msgspec.Meta(ge=0)]
_Line = Annotated[int, msgspec.Meta(ge=0, le=99_999_999)]


class _Value(msgspec.Struct):
    at: _Seconds
    since: _Seconds
    longest: _Seconds = 0.0
    returns: Annotated[int, msgspec.Meta(ge=0)] = 0
    function: str = msgspec.field(name="in", default="")
    file: str = ""
    line: _Line = 0
    stack: str = ""
    worked: float = -1.0
    how: str = ""
    alone: Annotated[int, msgspec.Meta(ge=0, le=1)] = 0
    pause: _Seconds = 0.0
    processes: _Line = 0


_decoder = msgspec.json.Decoder(_Value)
_stack_decoder = msgspec.json.Decoder(list[tuple[str, str, _Line]])

Get = Callable[[str, bool], Awaitable[bytes]]
"""A function that returns the answer for a key, or for a directory. It raises as the probe does."""


class PlaceReader(Paced[PlaceReport | None]):
    """The reader of the places of one coordinator's ranks, with the time of the next question."""

    def __init__(self, expected: int | None) -> None:
        self._most = most_tasks(expected)
        super().__init__(_report, place_interval(expected or 1))
        self._stacks: dict[tuple[int, str], tuple[str, ...]] = {}
        self.stacks: tuple[tuple[int, tuple[str, ...]], ...] = ()
        """The ranks whose stacks were read, with their stacks."""

    async def read(self, get: Get) -> tuple[PlaceReport, ...]:
        """Return the places, by rank. Raises what ``get`` raises, and ``Malformed``."""
        seen = await in_turns(self._take(await get(PLACES, True)))
        found = {report.rank: report for report in seen if report and report.rank < self._most}
        reports = tuple(found[rank] for rank in sorted(found))
        await self._read_stacks(reports, get)
        return reports

    def _take(self, body: bytes) -> Turns[list[PlaceReport | None]]:
        entries = yield from entries_in_turns(body, 2, self._most)
        return (yield from self.readings_in_turns(entries))

    async def _read_stacks(self, reports: tuple[PlaceReport, ...], get: Get) -> None:
        standing = [report for report in reports if report.stood >= _WRITTEN]
        if 2 * len(standing) < len(reports) or not standing:
            self._stacks, self.stacks = {}, ()
            return
        wanted = [(report.rank, report.stack) for report in _chosen(standing)]
        self._stacks = {key: self._stacks[key] for key in wanted if key in self._stacks}
        for key in wanted:
            if key not in self._stacks and (stack := await _stack(key[0], get)) is not None:
                self._stacks[key] = stack
        self.stacks = tuple((key[0], self._stacks[key]) for key in wanted if self._stacks.get(key))


def _chosen(standing: Sequence[PlaceReport]) -> list[PlaceReport]:
    """Return the first rank of the largest group at one place, of the smallest ones, and of further stacks at these."""
    first: dict[str, PlaceReport] = {}
    other: dict[tuple[str, str], PlaceReport] = {}
    for report in standing:
        first.setdefault(report.place, report)
        other.setdefault((report.place, report.stack), report)
    places = Counter(report.place for report in standing).most_common()
    stacks = Counter((report.place, report.stack) for report in standing).most_common()
    chosen = [first[place] for place, _ in places[:1] + places[:0:-1]]
    chosen += [other[stack] for stack, _ in reversed(stacks) if other[stack] is not first[stack[0]]]
    return chosen[:MOST_STACKS]


async def _stack(rank: int, get: Get) -> tuple[str, ...] | None:
    """Return the stack of that rank; empty if it is too large or none, and None if the question was not answered.

    The places are known in each case.
    """
    try:
        entries = read_entries(await get(f"{STACKS}/{rank}", False), 1, 1)
    except NoAnswer:
        return None
    except Malformed:
        return ()
    return stack_of(next(iter(entries.values()), b""))


def _report(key: str, value: bytes) -> PlaceReport | None:
    number = key.removeprefix(f"{PLACES}/")
    if not (number.isascii() and number.isdigit() and len(number) <= 7):
        return None
    sent = read_json(_decoder, value, MAX_VALUE)
    if sent is None or not all(map(isfinite, (sent.at, sent.since, sent.longest, sent.worked, sent.pause))):
        return None
    function, file = bare(sent.function, MAX_NAME), bare(sent.file, MAX_NAME)
    digest = printable(sent.stack, 16)
    quiet = max(0.0, sent.at - sent.worked) if sent.worked >= 0 else inf
    at = function or "?", file or "?", sent.line
    how, alone = sent.how if sent.how in WORK else "", bool(sent.alone)
    stood = int(number), sent.at, sent.since, sent.longest, sent.returns
    return PlaceReport(*stood, *at, digest, quiet, how, alone, sent.pause, sent.processes)


def stack_of(value: bytes) -> tuple[str, ...]:
    """Return ``next (/app/data.py:41)`` for each call, the innermost first; empty if the value is no stack."""
    calls = read_json(_stack_decoder, value, MAX_STACK) or []
    return tuple(
        f"{bare(function, MAX_NAME)} ({bare(file, MAX_FILE)}:{line})" for function, file, line in calls[:MAX_FRAMES]
    )
