"""The sentence about where the ranks of a gang stand, and which of them stand elsewhere than most."""

from itertools import chain

from muster.api.values.rank_ranges import to_ranges
from muster.state.view.places.report import PlaceGroup
from muster.state.view.places.standstill import Places

NAMED_GROUPS = 3
"""Groups beside the largest one that a sentence names."""
NAMED_RANGES = 60
"""Characters of the ranges of ranks of a group."""


def sentence(places: Places) -> str:
    """``rank 37 is in next (data.py:41); the other 511 are in all_reduce (train.py:88)``; ordered by ranks alone."""
    if len(places.groups) == 1:
        equal = ", with equal stacks: the cause is below Python, or the same in all" if places.equal else ""
        return f"all {places.size} ranks {places.groups[0].activity}{equal}"
    outliers = places.outliers
    named = outliers[:NAMED_GROUPS] or places.groups[: NAMED_GROUPS + 1]
    rest = sum(len(group.ranks) for group in (outliers or places.groups)[len(named) :])
    said = [f"{_who(group.ranks)} {group.activity}" for group in named]
    if rest:
        said.append(f"{rest} {'is' if rest == 1 else 'are'} elsewhere")
    apart = ", ".join(said)
    if not outliers:
        return apart
    count = len(places.groups[0].ranks)
    return f"{apart}; the other {'rank' if count == 1 else count} {places.groups[0].activity}"


def numbers(places: Places, size: int) -> str:
    """``rank 1 joined with 3 processes; the coordinator has 4``; empty where all numbers are equal."""
    named = [f"{_who(ranks)} joined with {number} processes" for number, ranks in places.numbers[:NAMED_GROUPS]]
    rest = sum(len(ranks) for _, ranks in places.numbers[NAMED_GROUPS:])
    more = [f"{rest} {'rank' if rest == 1 else 'ranks'} with other numbers"] if rest else []
    return f"{', '.join(named + more)}; the coordinator has {size}" if named else ""


def outlying(places: Places) -> dict[int, PlaceGroup]:
    """The group of each rank that is not where most of them are."""
    return dict(chain.from_iterable(((rank, group) for rank in group.ranks) for group in places.outliers))


def _who(ranks: tuple[int, ...]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    return f"{len(ranks)} ranks ({to_ranges(ranks, NAMED_RANGES).replace(',', ', ')})"
