"""The last lines of the ranks of a gang: ranks with equal lines share a row, the longest silent ones first."""

import re
from collections.abc import Sequence
from itertools import groupby

from muster.api.values.printable import printable, uncoloured
from muster.api.values.rank_ranges import to_ranges
from muster.client.explaining.times import since
from muster.client.logs.last_lines import LastLine

ROWS = 10
"""Rows that are shown; those that are left out logged last."""
RANGES = 40
"""Characters of the ranks of a row."""

GAP = 10.0
"""Seconds between two lines of the same kind that put them into rows of their own: a rank may have stopped."""

_NUMBER = re.compile(r"\d+(\.\d+)?")


def rows(found: Sequence[LastLine], now: float, ended: float | None = None) -> list[str]:
    """Return ``rank 2 (and 0,3-7 alike)  2s to 5s ago  step 120 loss 0.31``: the others' lines differ in numbers alone.

    The line is that of the rank that is named; ranks with the very same line are ``ranks 0-3``. Ranks that have been
    silent for clearly longer than the others of their row have a row of their own.

    Of an experiment that has ended, ages are those at its end: ``5s before the end``.
    """
    ordered = sorted(found, key=_kind)
    groups = [
        apart
        for _, same in groupby(ordered, key=_kind)
        for apart in _apart(sorted(same, key=lambda line: line.at or 0.0))
    ]
    groups.sort(key=lambda same: (same[0].at or 0.0, same[0].rank))
    cells = [(_ranks(same), _when(same, now, ended), _what(same[0])) for same in groups[:ROWS]]
    widths = [max((len(row[column]) for row in cells), default=0) for column in (0, 1)]
    shown = [f"{ranks:<{widths[0]}}  {when:<{widths[1]}}  {what}" for ranks, when, what in cells]
    rest = sum(map(len, groups[ROWS:]))
    return [*shown, f"and {rest} more ranks, which logged later"] if rest else shown


def _apart(same: Sequence[LastLine]) -> list[list[LastLine]]:
    """Return lines by time, parted where none was logged for more than ``GAP``."""
    parted = [[same[0]]]
    for line in same[1:]:
        if (line.at or 0.0) - (parted[-1][-1].at or 0.0) > GAP:
            parted.append([])
        parted[-1].append(line)
    return parted


def _kind(line: LastLine) -> tuple[str, str, int]:
    return _NUMBER.sub("#", line.text), _NUMBER.sub("#", line.unread), -1 if line.exit_code is None else line.exit_code


def _ranks(same: Sequence[LastLine]) -> str:
    first = same[0]
    if any((line.text, line.unread) != (first.text, first.unread) for line in same):
        return f"rank {first.rank} (and {_ranges(same[1:])} alike)"
    return f"{'rank' if len(same) == 1 else 'ranks'} {_ranges(same)}"


def _ranges(same: Sequence[LastLine]) -> str:
    ranks = sorted(line.rank for line in same)
    text = to_ranges(ranks, RANGES)
    return text if text == to_ranges(ranks) else f"{text},… ({len(ranks)})"


def _when(same: Sequence[LastLine], now: float, ended: float | None) -> str:
    then, word = (now, "ago") if ended is None else (ended, "before the end")
    oldest, newest = since(same[0].at, then), since(same[-1].at, then)
    if not oldest:
        return "-"
    return f"{oldest} {word}" if oldest == newest else f"{newest} to {oldest} {word}"


def _what(line: LastLine) -> str:
    ended = "" if line.exit_code is None else f"(exit code {line.exit_code})  "
    if line.unread:
        return f"{ended}the log cannot be read: {printable(line.unread)}"
    return ended + (printable(uncoloured(line.text)) if line.at is not None else "nothing was logged")
