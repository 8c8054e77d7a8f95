"""Tables as ``kubectl get`` prints them: capital headings, three spaces between columns, no lines.

A watched table cannot know the widths that are still to come, so it keeps those of its first rows and of its headings.
"""

import re
from collections.abc import Iterable, Sequence

_SEQUENCE = re.compile("\x1b\\[[0-9;]*m")
GAP = "   "


def width(cell: str) -> int:
    """The columns a cell takes on the screen; colours take none."""
    return len(_SEQUENCE.sub("", cell))


class Table:
    """Rows under fixed headings; the last column is not padded."""

    def __init__(self, headings: Sequence[str]) -> None:
        self._headings = tuple(headings)
        self._widths = [len(heading) for heading in headings]

    def lines(self, rows: Iterable[Sequence[str]], *, headings: bool) -> list[str]:
        """The rows as lines, wide enough for them and for everything before; with the headings above if wanted."""
        cells = [tuple(row) for row in rows]
        for row in cells:
            self._widths = [max(known, width(cell)) for known, cell in zip(self._widths, row, strict=True)]
        return [self._line(row) for row in ([self._headings] if headings else []) + cells]

    def _line(self, row: Sequence[str]) -> str:
        padded = [cell + " " * (size - width(cell)) for cell, size in zip(row, self._widths, strict=True)]
        return GAP.join(padded).rstrip()
