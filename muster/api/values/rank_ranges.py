"""Ascending numbers as a short text, such as ``0-3,7``: the form of ``completedIndexes`` (batch/v1 JobStatus)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

RANGES: Final = "^([0-9]{1,9}(-[0-9]{1,9})?(,[0-9]{1,9}(-[0-9]{1,9})?)*)?$"

_RANGES: Final = re.compile(RANGES.replace("$", r"\Z"))


def to_ranges(numbers: Iterable[int], longest: int | None = None) -> str:
    """Return the text of ascending numbers. Ranges beyond ``longest`` characters are left out, the last ones first."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    text = ",".join(f"{first}-{last}" if last > first else f"{first}" for first, last in runs)
    if longest is None or len(text) <= longest:
        return text
    return text[: longest + 1].rpartition(",")[0]


def in_words(ranks: Sequence[int], longest: int | None = None, unnamed: int = 0) -> str:
    """Return ``0-3, 7 and 12 more``: ascending ranks, without those beyond ``longest`` characters or without a name."""
    text = to_ranges(ranks, longest)
    rest = len(ranks) + unnamed - sum(last - first + 1 for first, last in spans(text))
    return text.replace(",", ", ") + (f" and {rest} more" if rest > 0 else "")


def of_ranks(ranks: Sequence[int], longest: int | None = None, unnamed: int = 0) -> str:
    """Return ``rank 3``, or ``ranks 0-3, 7 and 12 more``."""
    return f"rank{'' if len(ranks) + unnamed == 1 else 's'} {in_words(ranks, longest, unnamed)}"


def check_ranges(text: str) -> bool:
    """Return True if the text is of that form: each range ascends, and begins after the one before it."""
    if not _RANGES.match(text):
        return False
    end = -1
    for first, last in spans(text):
        if first <= end or last < first:
            return False
        end = last
    return True


def from_ranges(text: str, size: int) -> Iterator[int]:
    """Yield the numbers below ``size``, ascending."""
    for first, last in spans(text):
        if first >= size:
            return
        yield from range(first, min(last, size - 1) + 1)


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the first and last number of each range of such a text."""
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        yield int(first), int(last or first)
