"""The phases of the last epochs on one axis of time: a lane for each epoch, drawn from the story.

Places are percentages, so that the picture is as wide as the window and its text is not distorted. The axis has a round
length: it is rarely drawn again as time passes.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from muster.api.values.humanize import age
from muster.daemon.web.page.html import Html, Part, element, section
from muster.daemon.web.page.times import seconds_of
from muster.rollcall.document import StoryReport

LANES = 8
"""Most epochs that are drawn: the last ones."""
LANE, BAR, AXIS = 26, 18, 20
"""Pixels: the height of a lane, of its bar, and of the axis."""
LABEL = 8.0
"""Percent of the width for the names of the lanes."""
STEPS = 200
"""Steps on the axis at which an unfinished phase may end."""

_PHASES = {
    "Started": "Pending",
    "Queued": "Queued",
    "Admitted": "Pending",
    "Suspended": "Suspended",
    "Resumed": "Pending",
    "Restarted": "Pending",
    "RestartedByController": "Pending",
    "GangRestart": "Restarting",
    "Evicted": "Queued",
    "Assembling": "Assembling",
    "Running": "Running",
}
"""The phase that begins with a line of the story, by the line's reason."""

_WATCHING = "Watching"
"""The first line of a watched run's story, in whatever phase the run is found."""
_FOUND_IN = {"Resumed": "Suspended", "Assembling": "Pending", "Running": "Assembling"}
"""The phase in which a watched run was found, by the line that ends it."""

STUCK = "Stuck"
"""The line that begins a Stuck span: a stripe at the foot of the phase's bar."""
STRIPE = 5
"""The height of a stripe in pixels."""
_UNSTUCK = (STUCK, "NotStuck", "Running", "GangRestart", "Evicted", "Suspended", "RestartedByController")

_ROUND = (60, 120, 240, 480, 1200, 2400, 3600, 7200, 4 * 3600, 8 * 3600, 16 * 3600, 86400)
"""Lengths of the axis in seconds, whose quarters are round numbers; beyond the last, whole multiples of it."""


@dataclass(frozen=True, slots=True)
class Span:
    """One phase of one epoch; ``end`` is None while it lasts."""

    epoch: int
    phase: str
    begin: float
    end: float | None


def spans(story: Sequence[StoryReport], finished_at: str, phase: str) -> list[Span]:
    """Return the phases in the story, in order; ``phase`` is the present one."""
    lines = [line for line in story if line.reason in _PHASES or line.reason == _WATCHING]
    over = seconds_of(finished_at) if finished_at else None
    found = []
    for line, following in zip_longest(lines, lines[1:]):
        if following is not None:
            first = _FOUND_IN.get(following.reason, "Running")
        else:
            first = "Running" if finished_at else phase
        end = seconds_of(following.at) if following is not None else over
        found.append(Span(line.epoch, _PHASES.get(line.reason, first), seconds_of(line.at), end))
    return found


def stuck(story: Sequence[StoryReport], finished_at: str) -> Iterator[Span]:
    """Yield the Stuck spans, each until a line of the story ends it, its epoch ends, or the run ends."""
    over = seconds_of(finished_at) if finished_at else None
    for place, line in enumerate(story):
        if line.reason == STUCK:
            ends = (each for each in story[place + 1 :] if each.reason in _UNSTUCK or each.epoch != line.epoch)
            end = next(ends, None)
            yield Span(line.epoch, STUCK, seconds_of(line.at), seconds_of(end.at) if end is not None else over)


def timeline(found: Sequence[Span], now: float) -> Part:
    """Return the picture, with its content as text for readers who do not see it."""
    epochs = sorted({span.epoch for span in found})[-LANES:]
    shown = [span for span in found if span.epoch in epochs]
    begin = min(span.begin for span in shown)
    length = _round(max(span.end if span.end is not None else now for span in shown) - begin)
    lanes = {epoch: number for number, epoch in enumerate(epochs)}
    height = LANE * len(epochs) + AXIS
    names = [
        element("text", f"epoch {n}", x="0", y=str(LANE * lane + BAR - 3), class_="lane") for n, lane in lanes.items()
    ]
    body = [*_axis(length, height), *names, *_bars(shown, lanes, begin, length, now)]
    picture = element("svg", *body, class_="timeline", height=str(height), role="img", aria_labelledby="timeline-title")
    return section("timeline", "Phases", picture, _key(shown))


def _axis(length: float, height: int) -> Iterator[Html]:
    for quarter in range(5):
        x = f"{LABEL + (100 - LABEL) * quarter / 4:.2f}%"
        yield element("line", x1=x, x2=x, y1="0", y2=str(height - AXIS), class_="tick")
        anchor = "end" if quarter == 4 else "start" if quarter == 0 else "middle"
        text = f"+{_length(length * quarter / 4)}" if quarter else "0"
        yield element("text", text, x=x, y=str(height - 5), text_anchor=anchor, class_="axis")


def _length(seconds: float) -> str:
    """Return a round length of time: whole hours as such."""
    return f"{seconds / 3600:g}h" if seconds % 1800 == 0 and seconds >= 3600 else age(seconds)


def _bars(shown: Iterable[Span], lanes: dict[int, int], begin: float, length: float, now: float) -> Iterator[Html]:
    scale = (100 - LABEL) / length
    for span in shown:
        until = span.end if span.end is not None else begin + int((now - begin) / length * STEPS) * length / STEPS
        x = LABEL + (span.begin - begin) * scale
        width = max((until - span.begin) * scale, 0.15)
        y = LANE * lanes[span.epoch]
        lasts = f"for {age(span.end - span.begin)}" if span.end is not None else "ongoing"
        text = element("title", f"epoch {span.epoch}: {span.phase}, {lasts}")
        top, high = (y + 2, BAR) if span.phase != STUCK else (y + 2 + BAR - STRIPE, STRIPE)
        bar = f'<rect x="{x:.2f}%" y="{top}" width="{width:.2f}%" height="{high}" class="{span.phase.lower()}">'
        yield Html(f"{bar}{text}</rect>")
        if width > 9 and span.phase != STUCK:
            yield element("text", span.phase, x=f"{x + 0.5:.2f}%", y=str(y + BAR - 3), class_="name")


def _key(shown: Iterable[Span]) -> Html:
    """Return how long each phase took in all, as words beside the colours of the bars."""
    spent: dict[str, float] = {}
    for span in shown:
        spent[span.phase] = spent.get(span.phase, 0.0) + ((span.end - span.begin) if span.end is not None else 0.0)
    items = [
        element(
            "li",
            element("b", " ", class_=f"swatch {phase.lower()}", aria_hidden="true"),
            f"{phase} {age(seconds)}" if seconds else f"{phase}",
        )
        for phase, seconds in spent.items()
    ]
    return element("ul", *items, class_="legend")


def _round(seconds: float) -> float:
    place = bisect_left(_ROUND, seconds)
    return float(_ROUND[place]) if place < len(_ROUND) else -(-seconds // _ROUND[-1]) * _ROUND[-1]
