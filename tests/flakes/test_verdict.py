"""What holds a run back: tests that fail twice, and too many that fail once."""

from datetime import date, timedelta

import pytest

from tests.flakes import quarantine
from tests.flakes.quarantine import LONGEST, Quarantined
from tests.flakes.verdict import MOST_AGAIN, MOST_FLAKES, again, judge
from tests.outcomes.outcome import Outcome

TODAY = date(2026, 11, 28)


def failed(count: int) -> list[Outcome]:
    return [Outcome(f"t{number}", "failed") for number in range(count)]


def test_a_test_that_passes_alone_is_flaky_and_one_that_does_not_is_broken() -> None:
    verdict = judge(failed(2), {"t0"}, ())
    assert ([each.test for each in verdict.flaky], [each.test for each in verdict.broken]) == (["t0"], ["t1"])
    assert not verdict.well


@pytest.mark.parametrize(("flakes", "well"), [(0, True), (MOST_FLAKES, True), (MOST_FLAKES + 1, False)])
def test_more_than_three_flakes_fail_a_run(flakes: int, well: bool) -> None:
    rows = failed(flakes)
    assert judge(rows, {each.test for each in rows}, ()).well == well


def test_a_test_in_quarantine_is_not_played_again_and_holds_nothing_back() -> None:
    rows = failed(2)
    assert again(rows, {"t0"}) == ["t1"]
    verdict = judge(rows, {"t1"}, {"t0"})
    assert [each.test for each in verdict.quarantined] == ["t0"]
    assert verdict.well


def test_where_very_many_have_failed_none_is_played_again_and_all_are_broken() -> None:
    rows = failed(MOST_AGAIN + 1)
    assert again(rows, ()) == []
    assert not judge(rows, (), ()).well
    assert len(again(rows, {"t0"})) == MOST_AGAIN


def test_a_quarantine_ends_after_its_days() -> None:
    entries = [Quarantined("t", TODAY - LONGEST, "slow"), Quarantined("u", TODAY - LONGEST - timedelta(days=1), "why")]
    (said,) = quarantine.overdue(entries, TODAY)
    assert said.startswith("u is in quarantine since 2026-11-13, longer than 14 days (why): mend it")
