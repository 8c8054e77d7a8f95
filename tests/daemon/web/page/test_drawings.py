"""The phases of the epochs on one axis of time, and the grid of ranks."""

import re

from muster.api.values.timestamps import whole_time
from muster.daemon.web.page.drawings import LANE, LANES, Span, grid, spans, stuck, timeline
from muster.rollcall.document import StoryReport
from muster.rollcall.seats import Bench, Seat, Standing
from tests.builders import NOW, worker_group

BAR = re.compile(r'<rect x="([\d.]+)%" y="(\d+)" width="([\d.]+)%" [^>]*class="(\w+)"><title>([^<]*)</title>')


def line(after: float, epoch: int, reason: str) -> StoryReport:
    return StoryReport(at=whole_time(NOW + after), epoch=epoch, reason=reason, message="", warning=False)


STORY = (
    line(0, 0, "Started"),
    line(12, 0, "Assembling"),
    line(13, 0, "Stuck"),
    line(24, 0, "Running"),
    line(60, 1, "GangRestart"),
)


def bars(found: list[Span], now: float) -> list[tuple[str, ...]]:
    return BAR.findall(str(timeline(found, now).html))


def test_a_phase_lasts_until_the_next_one_begins() -> None:
    found = [
        (span.epoch, span.phase, span.begin - NOW, span.end and span.end - NOW)
        for span in spans(STORY, "", "Restarting")
    ]
    assert found == [
        (0, "Pending", 0, 12),
        (0, "Assembling", 12, 24),
        (0, "Running", 24, 60),
        (1, "Restarting", 60, None),
    ]


def test_the_last_phase_ends_with_the_experiment() -> None:
    assert spans(STORY, whole_time(NOW + 90), "Failed")[-1].end == NOW + 90


def phases(*story: StoryReport, over: bool = False, phase: str = "Running") -> list[tuple[int, str, float]]:
    found = spans(story, whole_time(NOW + 90) if over else "", phase)
    return [(span.epoch, span.phase, span.begin - NOW) for span in found]


def test_a_run_of_another_controller_begins_in_the_phase_in_which_it_was_found() -> None:
    watching, assembling, running = line(0, 0, "Watching"), line(5, 0, "Assembling"), line(9, 0, "Running")
    assert phases(watching, phase="Queued") == [(0, "Queued", 0)]
    assert phases(watching, over=True, phase="Failed") == [(0, "Running", 0)]
    assert phases(watching, assembling, running) == [(0, "Pending", 0), (0, "Assembling", 5), (0, "Running", 9)]
    assert phases(watching, running) == [(0, "Assembling", 0), (0, "Running", 9)]
    assert phases(watching, line(5, 0, "Resumed")) == [(0, "Suspended", 0), (0, "Pending", 5)]


def test_its_controller_begins_the_next_epoch() -> None:
    again = line(20, 1, "RestartedByController")
    story = (line(0, 0, "Watching"), line(9, 0, "Running"), again, line(30, 1, "Running"))
    assert phases(*story) == [(0, "Assembling", 0), (0, "Running", 9), (1, "Pending", 20), (1, "Running", 30)]
    assert phases(line(0, 0, "Watching"), again) == [(0, "Running", 0), (1, "Pending", 20)]


def test_bars_stand_at_their_times_each_epoch_in_its_lane() -> None:
    assert bars(spans(STORY, "", "Restarting"), NOW + 120) == [
        ("8.00", "2", "9.20", "pending", "epoch 0: Pending, for 12s"),
        ("17.20", "2", "9.20", "assembling", "epoch 0: Assembling, for 12s"),
        ("26.40", "2", "27.60", "running", "epoch 0: Running, for 36s"),
        ("54.00", str(LANE + 2), "46.00", "restarting", "epoch 1: Restarting, ongoing"),
    ]


def test_only_the_last_epochs_are_drawn() -> None:
    many = [Span(epoch, "Running", NOW + epoch, NOW + epoch + 1) for epoch in range(LANES + 3)]
    titles = [bar[-1] for bar in bars(many, NOW + 60)]
    assert titles == [f"epoch {epoch}: Running, for 1s" for epoch in range(3, LANES + 3)]


def test_a_story_without_phases_has_no_spans() -> None:
    assert spans((line(0, 0, "Stuck"),), "", "Pending") == []


def test_when_it_was_stuck_is_a_stripe_at_the_foot_of_the_phase() -> None:
    story = [line(0, 0, "Started"), line(10, 0, "Running"), line(70, 0, "Stuck"), line(1870, 1, "GangRestart")]
    (over,) = stuck(story, "")
    assert (over.epoch, over.begin - NOW, (over.end or 0) - NOW) == (0, 70, 1870)
    (goes_on,) = stuck(story[:3], "")
    assert goes_on.end is None
    (of_the_start,) = stuck(STORY, "")
    assert bars([*spans(STORY, "", "Restarting"), of_the_start], NOW + 120)[-1][1] == "15"


def test_a_rank_that_looks_well_and_hangs_is_marked() -> None:
    seats = [Seat(rank, Standing.ARRIVED, False, f"run-worker-0-{rank}", "a") for rank in range(3)]
    html = grid([Bench(worker_group(3), seats)], 3, frozenset(), {2: "Hung"}).html
    assert 'class="bad" title="rank 2 Hung, run-worker-0-2 on a">H</b>' in html
    assert html.count('class="ok" title="rank ') == 2
