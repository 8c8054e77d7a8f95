"""Two drawings of an experiment's page: the grid of its ranks, and the timeline of its epochs.

The grid has a cell for each rank, with a colour, a letter and a text. Ranks form blocks, each behind the number of its
first rank: a block is a job if jobs are small, else ten or twenty ranks in a row. So the grid is as wide as the window,
and a rank is found by its number.

The timeline has the phases of the last epochs on one axis of time: a lane for each epoch, drawn from the story. Places
are percentages, so that the picture is as wide as the window and its text is not distorted. The axis has a round
length: it is rarely drawn again as time passes.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import zip_longest

from muster.api.values.durations import age
from muster.api.values.rank_ranges import of_ranks
from muster.api.values.timestamps import seconds_of
from muster.daemon.web.page.html import Child, Html, Part, element, part, section
from muster.rollcall.document import StoryReport
from muster.rollcall.seats import Bench, Seat, Standing

LOOKS = {
    Standing.ARRIVED: ("ok", "A"),
    Standing.RUNNING: ("ok", "W"),
    Standing.NOT_ARRIVED: ("bad", "M"),
    Standing.STARTING: ("soon", "P"),
    Standing.NO_POD: ("none", "-"),
    Standing.QUEUED: ("soon", "Q"),
    Standing.UNSCHEDULABLE: ("bad", "U"),
    Standing.IMAGE: ("bad", "I"),
    Standing.CONTAINER: ("bad", "C"),
    Standing.NODE: ("bad", "N"),
    Standing.TERMINATING: ("warn", "T"),
    Standing.FAILED: ("bad", "F"),
    Standing.LOST: ("bad", "L"),
    Standing.UNKNOWN: ("warn", "?"),
    Standing.ENDED: ("over", "E"),
    Standing.STOPPED: ("over", "X"),
}
"""The tone and the letter of each state."""
AGAIN, STRAGGLER, NAMED = "R", "S", "H"
"""Letters of ranks that have arrived: after a restart of their own, behind the others, or named by a cause (hung)."""

SMALL_JOB = 64
"""Most pods of a job that are one block."""
MANY = 640
"""Ranks above which a block has twenty of them, the cells are smaller, and each group scrolls by itself."""

Look = tuple[str, str, str]
"""Class, letter and text of a cell."""


def grid(
    benches: Collection[Bench],
    size: int,
    stragglers: Collection[int],
    named: Mapping[int, str],
) -> Part:
    """Return the legend and all cells; ``named`` has the cause of unhealthy ranks whose pods look well."""
    ranks: defaultdict[Look, list[int]] = defaultdict(list)
    groups: list[Child] = []
    for bench in benches:
        blocks = []
        for label, name, seats in _blocks(bench, size):
            cells = []
            for seat in seats:
                look = _look(seat, seat.rank in stragglers, named.get(seat.rank, ""))
                ranks[look].append(seat.rank)
                cells.append(_cell(seat, look))
            ruler = element("i", label, role="rowheader", class_="" if label.isdigit() else "job")
            blocks.append(
                part(
                    "div",
                    f"ranks-{seats[0].rank}",
                    ruler,
                    Html("".join(cells)),
                    role="row",
                    aria_label=name,
                    class_="block",
                )
            )
        heading = _heading(bench)
        table = part(
            "div",
            f"group-{bench.group.first_rank}",
            *blocks,
            class_="ranks many" if size > MANY else "ranks",
            role="table",
            aria_label=f"Ranks of group {bench.group.name}",
        )
        groups += [heading, table]
    legend = part("ul", "legend", *_legend(ranks), class_="legend")
    pointed = element("output", class_="pointed", id="pointed")
    return section("ranks", f"Ranks ({size})", legend, *groups, pointed)


def _look(seat: Seat, late: bool, cause: str) -> Look:
    standing = seat.standing
    (tone, letter), text = LOOKS[standing], standing.value
    if standing in (Standing.ARRIVED, Standing.RUNNING):
        if cause:
            return "bad", NAMED, cause
        if late:
            return "warn", STRAGGLER, f"{text}, behind the others"
        if seat.again:
            return "again", AGAIN, f"{text}, after a restart of its own"
    return tone, letter, text


def _cell(seat: Seat, look: Look) -> str:
    tone, letter, text = look
    where = f" on {seat.node}" if seat.node else ""
    pod = f", {seat.pod}{where}" if seat.pod else ""
    return f'<b role="cell" class="{tone}" title="{escape(f"rank {seat.rank} {text}{pod}")}">{letter}</b>'


def _blocks(bench: Bench, size: int) -> Iterator[tuple[str, str, list[Seat]]]:
    group, seats = bench.group, bench.seats
    if group.replicas > 1 and 1 < group.completions <= SMALL_JOB:
        for job in range(group.replicas):
            of_job = seats[job * group.completions : (job + 1) * group.completions]
            number = group.first_job + job
            yield f"job {number} · {of_job[0].rank}", f"job {number}, {_span(of_job)}", of_job
        return
    step = 20 if size > MANY else 10
    for begin in range(0, len(seats), step):
        block = seats[begin : begin + step]
        yield str(block[0].rank), _span(block), block


def _span(seats: list[Seat]) -> str:
    return of_ranks([seat.rank for seat in seats])


def _heading(bench: Bench) -> Html:
    group = bench.group
    jobs = f"{group.replicas} jobs of {group.completions}" if group.replicas > 1 else f"{group.size}"
    return element("h3", group.name, " ", element("small", f"{jobs}, {_span(bench.seats)}" if bench.seats else jobs))


def _legend(ranks: Mapping[Look, list[int]]) -> Iterable[Html]:
    order = {"bad": 0, "warn": 1, "soon": 2, "none": 3, "again": 4, "ok": 5, "over": 6}
    for look in sorted(ranks, key=lambda look: (order[look[0]], look[1])):
        tone, letter, text = look
        which = "" if len(ranks) == 1 else f" ({of_ranks(sorted(ranks[look]), 60)})"
        swatch = element("b", letter, class_=tone, aria_hidden="true")
        yield element("li", swatch, element("span", f"{text}: {len(ranks[look])}"), element("small", which))


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
