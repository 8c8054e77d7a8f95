"""The steps in the status: they come with other news, or once a minute, and cost nothing where nothing moves."""

import pytest

from muster.api.gang import Steps
from muster.state.summary.status import STEPS_AFTER
from muster.state.view.view import View
from muster.state.vocabulary.record import Phase
from tests.state.facts.test_hang import ALL, Reporting


class Written(Reporting):
    """A decision follows each look."""

    speed = 2.0
    decides = True

    @property
    def seen(self) -> Steps:
        assert self.kept.steps is not None
        return self.kept.steps


def test_a_gang_that_reports_has_its_steps_in_the_status_at_most_a_minute_old() -> None:
    story = Written()
    assert story.kept.steps is None
    for _ in range(100):
        story.run(30)
        if story.steps[0] > 2 * 60:
            assert story.now - story.seen.at <= STEPS_AFTER
            assert story.steps[0] - story.seen.step <= 2 * STEPS_AFTER
    assert (story.seen.epoch, story.seen.per_second, story.seen.reporting) == (0, "2", 4)


def test_ten_minutes_of_steps_cost_ten_writes_and_an_hour_sixty() -> None:
    story = Written()
    story.run(60)
    before = story.writes
    story.run(600)
    assert story.writes - before == 10
    story.run(3600)
    assert story.writes - before == 70


def test_a_gang_that_gets_on_no_more_or_does_not_report_costs_no_write() -> None:
    story = Written()
    story.look(3600)
    before = story.writes
    story.look(3600)
    assert (story.writes, story.kept.steps) == (before, None)
    story.run(300)
    story.run(600, stopped=ALL)  # it is called Hung, and the step that it had reached stays
    before = story.writes
    story.run(3600, stopped=ALL)
    assert (story.writes, story.seen.step) == (before, story.steps[0])


def test_the_last_steps_of_an_epoch_stay_until_the_next_one_reports() -> None:
    story = Written()
    story.run(90)
    reached = story.steps[0]
    story.end(1, 1)
    story.look(1)
    assert (story.kept.phase, story.kept.epoch) == (Phase.RESTARTING, 1)
    assert (story.seen.epoch, story.seen.step) == (0, reached), "not those of the last minute's write"
    story.view = View()  # another daemon takes over
    story.look(1)
    assert (story.seen.epoch, story.seen.step) == (0, reached)


@pytest.mark.parametrize(("code", "phase"), [(0, Phase.SUCCEEDED), (1, Phase.FAILED)])
def test_how_far_it_came_is_in_the_status_of_one_that_is_over(code: int, phase: Phase) -> None:
    story = Written(limit=0)
    story.run(45)
    for rank in range(4):
        story.end(rank, code)
    story.look(1)
    assert (story.kept.phase, story.seen.step) == (phase, story.steps[0])
    before = story.writes
    story.look(3600)
    assert story.writes == before


def test_a_rate_of_thousands_is_a_number_without_separators() -> None:
    story = Written()
    story.speed = 2_000.0
    story.run(120)
    assert story.seen.per_second == "2000"
