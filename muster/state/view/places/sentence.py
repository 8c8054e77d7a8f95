"""The sentence about where the ranks of a gang stand, and which of them stand elsewhere than most."""

import re
from itertools import chain
from typing import Final

from muster.api.values.rank_ranges import to_ranges
from muster.state.view.places.report import PlaceGroup
from muster.state.view.places.standstill import Places

NAMED_GROUPS = 3
"""Groups beside the largest one that a sentence names."""
NAMED_RANGES = 60
"""Characters of the ranges of ranks of a group."""

_ELSEWHERE: Final = re.compile(
    r"(?:^|; )(?:rank ([0-9]{1,7})|[0-9]+ ranks \(([0-9]{1,7})[^)]*\)) ((?:in|no answer) [^;]+);"
    r" (?:.*; )?[0-9]+ others? "
)


def sentence(places: Places) -> str:
    """``rank 37 in next (data.py:41); 511 others in all_reduce (train.py:88)``; the order depends on ranks alone."""
    if len(places.groups) == 1:
        equal = ", with equal stacks: what holds them up is below Python, or the same in all" if places.equal else ""
        return f"all {places.size} ranks {places.groups[0].activity}{equal}"
    outliers = places.outliers
    named = outliers[:NAMED_GROUPS] or places.groups[: NAMED_GROUPS + 1]
    rest = sum(len(group.ranks) for group in (outliers or places.groups)[len(named) :])
    said = [f"{_who(group.ranks)} {group.activity}" for group in named]
    if rest:
        said.append(f"{rest} more elsewhere")
    if outliers:
        count = len(places.groups[0].ranks)
        said.append(f"{count} {'other' if count == 1 else 'others'} {places.groups[0].activity}")
    return "; ".join(said)


def first_outlier(said: str) -> tuple[int, str] | None:
    """The first rank that such a sentence has elsewhere than most, and what it does; None where it has no such rank."""
    found = _ELSEWHERE.search(said)
    return (int(found[1] or found[2]), found[3]) if found else None


def outlying(places: Places) -> dict[int, PlaceGroup]:
    """The group of each rank that is not where most of them are."""
    return dict(chain.from_iterable(((rank, group) for rank in group.ranks) for group in places.outliers))


def _who(ranks: tuple[int, ...]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    return f"{len(ranks)} ranks ({to_ranges(ranks, NAMED_RANGES).replace(',', ', ')})"
