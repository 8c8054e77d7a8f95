"""The words of a finding: its ranks, and its sentence."""

import pytest

from muster.state.facts.causes.table import Causes
from muster.state.facts.diagnosis.classifier import Finding


def finding(*ranks: int, count: int | None = None, what: str = "fails") -> Finding:
    return Finding(
        cause=Causes.CRASHED, ranks=ranks, count=len(ranks) if count is None else count, what=what, evidence="",
        next_step="",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "who"),
    [
        (finding(3), "rank 3"),
        (finding(8, 9, 10, 11), "ranks 8-11"),
        (finding(0, 2, 4), "ranks 0, 2, 4"),
        (finding(0, 2, count=5), "ranks 0, 2 and 3 more"),
        (finding(count=1), "1 rank"),
        (finding(count=2), "2 ranks"),
    ],
)
def test_a_finding_names_its_ranks_and_counts_those_that_are_not_named(found: Finding, who: str) -> None:
    assert found.who == who
    assert found.sentence == f"{who}: fails"


def test_a_long_list_of_ranks_is_cut_and_the_rest_is_counted() -> None:
    ranks = tuple(range(0, 1000, 2))
    who = finding(*ranks).who
    named, rest = who.removeprefix("ranks ").split(" and ")
    assert len(named.split(", ")) + int(rest.removesuffix(" more")) == len(ranks)
