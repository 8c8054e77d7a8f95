"""A small share of ``python -m tests.fleet_hours``: hours without a false incident, masses without a wrong name."""

import pytest

from tests.fleet_hours.play import play


@pytest.mark.parametrize("labelled", [True, False])
def test_independent_troubles_are_no_incident(labelled: bool) -> None:
    seen = play(25, 0, seed=7, labelled=labelled)
    assert list(seen.false) == []
    assert seen.hours >= 25


@pytest.mark.slow
def test_masses_among_independent_troubles_are_named_rightly_and_in_time() -> None:
    seen = play(150, 34, seed=11)
    assert (list(seen.false), list(seen.wrong)) == ([], [])
    assert seen.named.total() >= 0.95 * seen.masses.total(), seen.late
