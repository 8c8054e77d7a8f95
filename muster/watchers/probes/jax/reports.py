"""Reads what ranks report of their progress from the job's key-value store.

All reports are one directory of the store, so a look takes one call, which only reads. It is asked once every rank of
the roll is past the rendezvous: every ``IDLE`` seconds until there is a report, and then with each look, but never more
often than the ranks write, nor so often that process 0 works for it for more than ``LOAD`` of the time.

The values come from programs. One that is not as ``muster.api.progress`` says is left out, and the others count.
"""

from math import isfinite
from typing import Annotated

import msgspec

from muster.api.progress import KEYS, MAX_SCALAR_NAME, MAX_SCALARS, MAX_STEP, MAX_VALUE, report_interval
from muster.api.values.printable import printable
from muster.state.view.progress import StepReport
from muster.watchers.probes.jax.task_list import most_tasks, read_entries

IDLE = 6.0
"""Seconds between two looks at a store without reports: most programs do not report."""
LOAD = 0.002
"""The part of its time for which process 0 may answer: 1.5 ms for a look every three seconds is a quarter of that."""

_Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_STEP)]
_Seconds = Annotated[float, msgspec.Meta(ge=0)]


class _Value(msgspec.Struct):
    step: _Count
    calls: _Count = 1
    at: _Seconds = 0.0
    longest: _Seconds = 0.0
    pause: _Seconds = 0.0
    scalars: dict[str, float] = {}


_decoder = msgspec.json.Decoder(_Value)


class ReportReader:
    """Reads the reports of one coordinator, and says when to ask for them again."""

    def __init__(self, expected: int | None) -> None:
        self._most = most_tasks(expected)
        self._pause = report_interval(expected or 1)
        self._due = 0.0
        self._known: dict[str, tuple[bytes, StepReport | None]] = {}

    def due(self, now: float) -> bool:
        """Whether to ask now (monotonic seconds)."""
        return now >= self._due

    def took(self, began: float, now: float) -> None:
        """A look that began then is over, with an answer or without."""
        self._due = max(now + (now - began) / LOAD, began + (self._pause if self._known else IDLE))

    def read(self, body: bytes) -> tuple[StepReport, ...]:
        """The reports, by rank. Raises ``Malformed``. A value that is the same as before is not decoded again."""
        known, self._known = self._known, {}
        entries = read_entries(body, 2, self._most)
        for key, value in entries.items():
            last = known.get(key)
            self._known[key] = last if last is not None and last[0] == value else (value, _report(key, value))
        found = {report.rank: report for _, report in self._known.values() if report and report.rank < self._most}
        return tuple(found[rank] for rank in sorted(found))


def _report(key: str, value: bytes) -> StepReport | None:
    number = key.removeprefix(f"{KEYS}/")
    if len(value) > MAX_VALUE or not (number.isascii() and number.isdigit() and len(number) <= 7):
        return None
    try:
        said = _decoder.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not (isfinite(said.at) and isfinite(said.longest) and isfinite(said.pause)):
        return None
    scalars = [(printable(name, MAX_SCALAR_NAME), each) for name, each in said.scalars.items() if isfinite(each)]
    return StepReport(
        int(number), said.step, said.calls, said.at, said.longest, tuple(scalars[:MAX_SCALARS]), said.pause
    )
