"""The phases of the epochs on one axis of time."""

import re

from muster.api.values.timestamps import whole_time
from muster.daemon.web.page.timeline import LANE, LANES, Span, spans, timeline
from muster.daemon.web.schemas import StoryReport
from tests.builders import NOW

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
    found = [(span.epoch, span.phase, span.begin - NOW, span.end and span.end - NOW) for span in spans(STORY, "")]
    assert found == [
        (0, "Pending", 0, 12),
        (0, "Assembling", 12, 24),
        (0, "Running", 24, 60),
        (1, "Restarting", 60, None),
    ]


def test_the_last_phase_ends_with_the_experiment() -> None:
    assert spans(STORY, whole_time(NOW + 90))[-1].end == NOW + 90


def test_bars_stand_at_their_times_each_epoch_in_its_lane() -> None:
    assert bars(spans(STORY, ""), NOW + 120) == [
        ("8.00", "2", "9.20", "pending", "epoch 0: Pending, for 12s"),
        ("17.20", "2", "9.20", "assembling", "epoch 0: Assembling, for 12s"),
        ("26.40", "2", "27.60", "running", "epoch 0: Running, for 36s"),
        ("54.00", str(LANE + 2), "46.00", "restarting", "epoch 1: Restarting, goes on"),
    ]


def test_only_the_last_epochs_are_drawn() -> None:
    many = [Span(epoch, "Running", NOW + epoch, NOW + epoch + 1) for epoch in range(LANES + 3)]
    titles = [bar[-1] for bar in bars(many, NOW + 60)]
    assert titles == [f"epoch {epoch}: Running, for 1s" for epoch in range(3, LANES + 3)]


def test_a_story_without_phases_has_no_spans() -> None:
    assert spans((line(0, 0, "Stuck"),), "") == []
