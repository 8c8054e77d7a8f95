"""The lead: the wall time of its reports, the work at its steps, and that they stay few."""

from hypothesis import given
from hypothesis import strategies as st

from muster.state.view.lead import MOST_POINTS, Lead, Point, Spent, between, thinned
from muster.state.view.progress import StepReport, lead_after, steps_progress
from muster.state.vocabulary.pod import Exit
from tests.builders import NOW, pod, sure


def look(step: int, at: float, read_at: float, before: Lead | None = None, **more: float) -> Lead:
    pause = more.pop("pause", 0.0)
    return lead_after(report(step, at, Spent(**more), pause), read_at, before)  # type: ignore[arg-type]


def report(step: int, at: float, spent: Spent, pause: float = 0.0) -> StepReport:
    return StepReport(0, step, 1, at, 1.0, pause=pause, spent=spent)


def test_the_wall_time_of_a_report_is_by_the_shortest_way_of_any() -> None:
    first = look(1, 100.0, NOW + 3)
    second = look(2, 101.0, NOW + 1.5, first)
    third = look(3, 102.0, NOW + 4, second)
    assert third.reported_at == NOW + 2.5
    assert look(3, 102.0, NOW + 9, third) is third


def test_work_is_the_clock_of_the_program_without_its_pauses() -> None:
    lead = look(1, 100.0, NOW)
    lead = look(2, 130.0, NOW + 30, lead, paused=20.0)
    assert lead.points == (Point(1, 100.0), Point(2, 110.0))
    assert (lead.first, lead.begun) == (1, 100.0)


def test_what_the_program_says_of_its_beginning_counts() -> None:
    lead = look(7, 110.0, NOW, first=5, begun=104.0)
    assert (lead.first, lead.begun) == (5, 104.0)


def test_a_program_that_starts_over_begins_anew() -> None:
    assert look(1, 5.0, NOW + 10, look(9, 100.0, NOW)).points == (Point(1, 5.0),)


def test_a_process_that_torchrun_restarted_has_the_clock_and_no_step_of_the_one_before() -> None:
    before = look(9, 100.0, NOW, first=1, begun=10.0, paused=30.0)
    lead = look(5, 120.0, NOW + 23, before, first=5, begun=119.0, restarts=1)
    assert (lead.offset, lead.points) == (NOW - 100, (Point(5, 120.0),))
    assert (lead.first, lead.begun) == (5, 119.0)


def test_a_process_whose_first_step_or_beginning_differs_is_another_one() -> None:
    before = look(9, 100.0, NOW, first=1, begun=10.0)
    assert look(12, 130.0, NOW + 30, before, first=12).points == (Point(12, 130.0),)
    assert look(12, 130.0, NOW + 30, before, first=1, begun=120.0).points == (Point(12, 130.0),)
    assert look(12, 130.0, NOW + 30, before, first=1).points == (Point(12, 130.0),), "it has not made three reports"
    assert len(look(12, 130.0, NOW + 30, before, first=1, begun=10.0).points) == 2


def test_the_containers_of_a_pod_that_turned_after_the_first_step_are_others() -> None:
    spent = Spent(first=0, begun=100.0)
    last = Exit("proxy", 1, 0, "Error", "", NOW - 7)
    for started, after in ((NOW - 5, NOW - 5), (NOW + 5, NOW - 7)):
        member = pod(0, started_at=started, last_exit=last)
        assert lead_after(report(9, 109.0, spent), NOW + 9, None, member).after == after
    begun_late = spent._replace(begun=-1.0)
    before = lead_after(report(0, 100.0, begun_late), NOW, None, pod(0, started_at=NOW - 5))
    later = pod(0, started_at=NOW + 5)  # of a container beside it, while the first step was compiled
    assert lead_after(report(3, 120.0, spent._replace(begun=115.0)), NOW + 20, before, later).after == NOW - 5


def test_the_lowest_reporting_rank_leads() -> None:
    reports = [StepReport(rank, 3 + rank, 4, 50.0) for rank in (2, 1)]
    seen = sure(steps_progress(reports, 0, NOW, None))
    assert seen.lead is not None
    assert (seen.lead.rank, seen.lead.first) == (1, 4)


def test_a_line_is_thinned_where_it_is_straight() -> None:
    line = tuple(Point(step, step * 2.0 + (30.0 if step > 70 else 0.0)) for step in range(100))
    kept = thinned(line, 4)
    assert kept == (line[0], line[70], line[71], line[99])
    assert between(kept[0], kept[1], 35) == line[35].at


@given(st.lists(st.tuples(st.integers(0, 10**6), st.floats(0, 10**6)), max_size=90))
def test_points_stay_few_and_keep_their_ends(raw: list[tuple[int, float]]) -> None:
    points = tuple(Point(*each) for each in raw)
    kept = thinned(points, MOST_POINTS)
    assert len(kept) == min(len(points), MOST_POINTS)
    assert kept[:1] == points[:1]
    assert kept[-1:] == points[-1:]
