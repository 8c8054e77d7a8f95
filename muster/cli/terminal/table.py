"""Tables as ``kubectl get`` prints them: capital headings, three spaces between columns, no lines.

A watched table cannot know the widths that are still to come, so it keeps those of its first rows and of its headings.
"""

from collections.abc import Iterable, Sequence

from muster.api.values.printable import uncoloured

GAP = "   "
LEGIBLE = 40
"""Columns of the screen that the text of the last cells gets before the cells beside it, unless it is shorter."""
SILENT = frozenset({"-", "0", ""})
"""Cells without information about their row."""


def width(cell: str) -> int:
    """Return the columns a cell takes on the screen; colours take none."""
    return len(uncoloured(cell))


class Table:
    """Rows under fixed headings; the last column is not padded."""

    def __init__(self, headings: Sequence[str]) -> None:
        self._headings = tuple(headings)
        self._widths = [len(heading) for heading in headings]

    def lines(self, rows: Iterable[Sequence[str]], *, headings: bool) -> list[str]:
        """Return the rows as lines, wide enough for all rows until now; with the headings above if wanted."""
        cells = [tuple(row) for row in rows]
        for row in cells:
            self._widths = [max(known, width(cell)) for known, cell in zip(self._widths, row, strict=True)]
        return [self._line(row) for row in ([self._headings] if headings else []) + cells]

    def _line(self, row: Sequence[str]) -> str:
        padded = [cell + " " * (size - width(cell)) for cell, size in zip(row, self._widths, strict=True)]
        return GAP.join(padded).rstrip()


def fitted(
    headings: Sequence[str], rows: Sequence[Sequence[str]], spare: Sequence[str], columns: int
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Return headings and rows without the columns that leave too little room for the last one on such a screen.

    Only those headed as in ``spare`` are left out, the first of it first, and before all of them those in which every
    cell is silent. None is left out where there is room.
    """
    wide = [max(map(width, cells)) for cells in zip(headings, *rows, strict=True)]
    last = len(headings) - 1
    kept = list(range(len(headings)))
    silent = {heading for heading, *cells in zip(headings, *rows, strict=True) if SILENT.issuperset(cells)}
    for heading in sorted(spare, key=lambda each: each not in silent):
        if sum(wide[at] + len(GAP) for at in kept if at != last) + min(wide[last], LEGIBLE) <= columns:
            break
        kept.remove(headings.index(heading))
    return [headings[at] for at in kept], [[row[at] for at in kept] for row in rows]
