"""The grid of ranks: a cell each, with a colour, a letter and a text.

Ranks form blocks, each behind the number of its first rank: a block is a job if jobs are small, else ten or twenty
ranks in a row. So the grid is as wide as the window, and a rank is found by its number.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from html import escape

from muster.api.values.rank_ranges import to_ranges
from muster.daemon.web.page.html import Child, Html, Part, element, part, section
from muster.rollcall.seats import Bench, Seat, Standing

LETTERS = {
    Standing.ARRIVED: "A",
    Standing.RUNNING: "W",
    Standing.NOT_ARRIVED: "M",
    Standing.STARTING: "P",
    Standing.NO_POD: "-",
    Standing.QUEUED: "Q",
    Standing.UNSCHEDULABLE: "U",
    Standing.IMAGE: "I",
    Standing.CONTAINER: "C",
    Standing.NODE: "N",
    Standing.TERMINATING: "T",
    Standing.FAILED: "F",
    Standing.LOST: "L",
    Standing.UNKNOWN: "?",
    Standing.ENDED: "E",
    Standing.STOPPED: "X",
}
AGAIN, STRAGGLER, NAMED = "R", "S", "H"
"""Letters of ranks that have arrived: after a restart of their own, behind the others, or named by a cause (hung)."""

_TONES = {
    Standing.ARRIVED: "ok",
    Standing.RUNNING: "ok",
    Standing.STARTING: "soon",
    Standing.QUEUED: "soon",
    Standing.NO_POD: "none",
    Standing.TERMINATING: "warn",
    Standing.UNKNOWN: "warn",
    Standing.ENDED: "over",
    Standing.STOPPED: "over",
}
"""The tones of states; a state without one is bad."""

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
    counts: Counter[Look] = Counter()
    ranks: dict[Look, list[int]] = {}
    groups: list[Child] = []
    for bench in benches:
        blocks = []
        for label, name, seats in _blocks(bench, size):
            cells = []
            for seat in seats:
                look = _look(seat, seat.rank in stragglers, named.get(seat.rank, ""))
                counts[look] += 1
                ranks.setdefault(look, []).append(seat.rank)
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
    legend = part("ul", "legend", *_legend(counts, ranks), class_="legend")
    pointed = element("output", class_="pointed", id="pointed")
    return section("ranks", f"Ranks ({size})", legend, *groups, pointed)


def _look(seat: Seat, late: bool, cause: str) -> Look:
    standing = seat.standing
    tone, letter, text = _TONES.get(standing, "bad"), LETTERS[standing], standing.value
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
    first, last = seats[0].rank, seats[-1].rank
    return f"rank {first}" if first == last else f"ranks {first} to {last}"


def _heading(bench: Bench) -> Html:
    group = bench.group
    jobs = f"{group.replicas} jobs of {group.completions}" if group.replicas > 1 else f"{group.size}"
    return element("h3", group.name, " ", element("small", f"{jobs}, {_span(bench.seats)}" if bench.seats else jobs))


def _legend(counts: Counter[Look], ranks: dict[Look, list[int]]) -> Iterable[Html]:
    order = {"bad": 0, "warn": 1, "soon": 2, "none": 3, "again": 4, "ok": 5, "over": 6}
    for look in sorted(counts, key=lambda look: (order[look[0]], look[1])):
        tone, letter, text = look
        numbers = sorted(ranks[look])
        shown = to_ranges(numbers, 60)
        whole = to_ranges(numbers)
        noun = "rank" if len(numbers) == 1 else "ranks"
        which = "" if len(counts) == 1 else f" ({noun} {shown}{'' if shown == whole else ', …'})"
        swatch = element("b", letter, class_=tone, aria_hidden="true")
        yield element("li", swatch, element("span", f"{text}: {counts[look]}"), element("small", which))
