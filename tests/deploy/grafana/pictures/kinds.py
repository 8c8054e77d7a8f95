"""Draws one panel of each kind, from the panel's JSON and the answers to its queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil, floor, isfinite, log10
from typing import Any

from deploy.grafana.render import OWNER
from tests.deploy.grafana.answers import Answer, legend
from tests.deploy.grafana.pictures.svg import (
    COLORS,
    FAINT,
    INK,
    LETTER,
    LINES,
    SERIES,
    box,
    cut,
    light,
    path,
    tag,
    words,
)
from tests.deploy.grafana.pictures.units import written

SMALL = 11.0
BOLD = 0.68
"""Mean width of a bold letter, as a share of the font's size."""
Panel = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a panel's content goes, and the time it shows."""

    x: float
    y: float
    width: float
    height: float
    since: float
    until: float

    def at(self, time: float) -> float:
        return self.x + self.width * (time - self.since) / (self.until - self.since)


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    color: str
    points: Sequence[tuple[float, float]]


def stat(panel: Panel, answers: Sequence[Answer], frame: Frame) -> str:
    """The last value, large, on the color of its threshold."""
    defaults = panel["fieldConfig"]["defaults"]
    by_name = panel["options"]["textMode"] == "name"
    lines = _lines(panel, answers)
    steps = defaults["thresholds"]["steps"]
    if not lines:
        shown, color = [defaults["noValue"]], COLORS[steps[0]["color"]]
    elif by_name:
        shown, color = [line.name for line in lines], _fixed(panel, lines[0].name) or COLORS[steps[-1]["color"]]
    else:
        value = lines[0].points[-1][1]
        shown, color = [written(value, defaults["unit"], defaults.get("decimals"))], threshold(steps, value)
    text = ", ".join(shown)
    size = min(30.0, (frame.width - 16) / max(len(text) * BOLD, 1))
    middle = {"text_anchor": "middle", "font_weight": "600"}
    ink = INK if color == COLORS["transparent"] else "#ffffff"
    return box(frame.x, frame.y, frame.width, frame.height, color, rx=3) + words(
        frame.x + frame.width / 2, frame.y + frame.height / 2 + size * 0.35, text, size, ink, **middle
    )


def timeseries(panel: Panel, answers: Sequence[Answer], frame: Frame) -> str:
    """Lines or stacked areas over time, with a legend below."""
    defaults = panel["fieldConfig"]["defaults"]
    custom = defaults.get("custom", {})
    stacked = custom.get("stacking", {}).get("mode") == "normal"
    stepped = custom.get("lineInterpolation") == "stepAfter"
    lines = _lines(panel, answers)
    if not lines:
        return _nothing(panel, frame)
    keys, used = _keys(lines, frame)
    inner = Frame(frame.x + 46, frame.y + 6, frame.width - 52, frame.height - 26 - used, frame.since, frame.until)
    layers = _stacked(lines) if stacked else [line.points for line in lines]
    finite = (value for points in layers for _, value in points if isfinite(value))
    unit = defaults["unit"]
    top, ticks = _ticks(defaults.get("max") or max(finite, default=1.0), unit)
    drawn = [_grid(inner, top, ticks, unit)]

    def height(value: float) -> float:
        return inner.y + inner.height * (1 - min(max(value / top, 0.0), 1.0))

    for line, points in reversed([*zip(lines, layers, strict=True)]):
        for part in _unbroken(points):
            places = [(inner.at(time), height(value)) for time, value in part]
            if stacked:
                ends = f"V{inner.y + inner.height:.1f}H{places[0][0]:.1f}Z"
                drawn.append(tag("path", d=path(places, stepped=True) + ends, fill=light(line.color)))
            drawn.append(tag("path", d=path(places, stepped=stepped), fill="none", stroke=line.color, stroke_width=1.4))
    return "".join(drawn) + keys


def state_timeline(panel: Panel, answers: Sequence[Answer], frame: Frame) -> str:
    """A row for each series, with a bar for each state it was in."""
    shown = panel["fieldConfig"]["defaults"]["mappings"][0]["options"]
    lines = _lines(panel, answers)
    label = max((len(line.name) for line in lines), default=0) * SMALL * LETTER + 14
    inner = Frame(frame.x + label, frame.y + 4, frame.width - label - 6, frame.height - 26, frame.since, frame.until)
    tall = inner.height / max(len(lines), 1)
    drawn = [_times(inner)]
    for place, line in enumerate(lines):
        y = inner.y + place * tall
        drawn.append(words(frame.x + 6, y + tall / 2 + 4, line.name, SMALL))
        for value, run in groupby(line.points, key=lambda point: point[1]):
            times = [time for time, _ in run]
            state = shown[f"{value:.0f}"]
            if state["color"] == "transparent":
                continue
            start, end = inner.at(times[0]), min(inner.at(times[-1] + 2), inner.x + inner.width)
            drawn.append(box(start, y + 3, end - start, tall - 6, COLORS[state["color"]], rx=2))
            if end - start > len(state["text"]) * SMALL * LETTER + 8:
                drawn.append(words(start + 5, y + tall / 2 + 4, state["text"], SMALL, "#ffffff"))
    return "".join(drawn)


def table(panel: Panel, answers: Sequence[Answer], frame: Frame) -> str:
    """One row for each set of labels."""
    arranged = next(one for one in panel["transformations"] if one["id"] == "organize")["options"]
    order_of = arranged["indexByName"]
    headings = {name: arranged["renameByName"][name] for name in sorted(order_of, key=order_of.__getitem__)}
    if any(one["id"] == "renameByRegex" for one in panel["transformations"]):
        found = {name for answer in answers for one in answer.series for name in one.labels if name.startswith(OWNER)}
        headings |= {name: name.removeprefix(OWNER) for name in sorted(found)}
    labels = [name for name in headings if not name.startswith("Value")]
    columns = [name for name in headings if name.startswith("Value")]
    rows: dict[tuple[str, ...], dict[str, float]] = {}
    for answer in answers:
        column = columns[0] if len(columns) == 1 else f"Value #{answer.query.ref}"
        for one in answer.series:
            rows.setdefault(tuple(one.labels.get(name, "") for name in labels), {})[column] = one.last
    drawn, edges = [], _edges(panel, [*labels, *columns], frame)
    for place, name in enumerate([*labels, *columns]):
        bold = cut(headings[name], edges[place + 1] - edges[place] - 8, SMALL)
        drawn.append(words(edges[place], frame.y + 14, bold, SMALL, FAINT, font_weight="600"))
    sort = panel["options"]["sortBy"][0]
    key = next(name for name in headings if headings[name] == sort["displayName"])
    if key in columns:
        order = sorted(rows, key=lambda row: rows[row].get(key, 0.0), reverse=sort["desc"])
    else:
        order = sorted(rows, key=lambda row: row[labels.index(key)], reverse=sort["desc"])
    fitting = int((frame.height - 24) / 20)
    for line, row in enumerate(order[:fitting]):
        y = frame.y + 36 + line * 20
        drawn.append(tag("path", d=f"M{frame.x:.0f} {y - 14:.0f}h{frame.width:.0f}", stroke=LINES))
        for place, text in enumerate(row):
            drawn.append(words(edges[place], y, cut(text, edges[place + 1] - edges[place] - 8, SMALL), SMALL))
        for place, name in enumerate(columns, len(labels)):
            if name in rows[row]:
                text, color = _cell(panel, headings[name], rows[row][name])
                drawn.append(words(edges[place], y, text, SMALL, color))
    if not rows:
        drawn.append(_nothing(panel, frame))
    return "".join(drawn)


def _edges(panel: Panel, names: Sequence[str], frame: Frame) -> list[float]:
    """The left edges of the columns, and the right one: those with a width of their own have it, if there is room."""
    wanted = [_properties(panel, name).get("custom.width") for name in names]
    rest = [width for width in wanted if width is None]
    free = frame.width - sum(width or 0 for width in wanted)
    share = max(free / max(len(rest), 1), frame.width / len(names) / 2)
    widths = [width or share for width in wanted]
    scale = min(1.0, frame.width / sum(widths))
    return [frame.x + 6 + scale * sum(widths[:place]) for place in range(len(names) + 1)]


def _nothing(panel: Panel, frame: Frame) -> str:
    """What stands in a panel without data."""
    x, y = frame.x + frame.width / 2, frame.y + frame.height / 2
    return words(x, y, panel["fieldConfig"]["defaults"]["noValue"], 13, FAINT, text_anchor="middle")


KINDS = {"stat": stat, "timeseries": timeseries, "state-timeline": state_timeline, "table": table}


def threshold(steps: Sequence[Mapping[str, Any]], value: float) -> str:
    """The color of the highest threshold that a value has reached."""
    reached = [step for step in steps if step["value"] is None or value >= step["value"]]
    return COLORS[reached[-1]["color"]]


def _properties(panel: Panel, name: str) -> dict[str, Any]:
    overrides = [one for one in panel["fieldConfig"]["overrides"] if one["matcher"]["options"] == name]
    return {one["id"]: one["value"] for override in overrides for one in override["properties"]}


def _fixed(panel: Panel, name: str) -> str | None:
    color = _properties(panel, name).get("color")
    return COLORS[color["fixedColor"]] if color and "fixedColor" in color else None


def _cell(panel: Panel, heading: str, value: float) -> tuple[str, str]:
    found = _properties(panel, heading)
    steps = found.get("thresholds")
    return written(value, found.get("unit", "none"), found.get("decimals")), threshold(
        steps["steps"], value
    ) if steps else INK


def _lines(panel: Panel, answers: Sequence[Answer]) -> list[Line]:
    named = [(legend(answer.query, one), one.points) for answer in answers for one in answer.series]
    return [
        Line(name, _fixed(panel, name) or SERIES[place % len(SERIES)], points)
        for place, (name, points) in enumerate(named)
    ]


def _stacked(lines: Sequence[Line]) -> list[Sequence[tuple[float, float]]]:
    """The upper edge of each line's area, on those before it."""
    times = sorted({time for line in lines for time, _ in line.points})
    heap = dict.fromkeys(times, 0.0)
    edges: list[Sequence[tuple[float, float]]] = []
    for line in lines:
        for time, value in line.points:
            heap[time] += value if isfinite(value) else 0.0
        edges.append([(time, heap[time]) for time, _ in line.points])
    return edges


def _unbroken(points: Sequence[tuple[float, float]], gap: float = 8.0) -> list[list[tuple[float, float]]]:
    """The parts of a line without gaps in it."""
    parts: list[list[tuple[float, float]]] = []
    for time, value in points:
        if not isfinite(value):
            continue
        if not parts or time - parts[-1][-1][0] > gap:
            parts.append([])
        parts[-1].append((time, value))
    return parts


def _ticks(top: float, unit: str) -> tuple[float, list[float]]:
    """A round upper end of an axis, and the values that are marked."""
    if top <= 0:
        return 1.0, [0.0, 1.0]
    size: float = 10 ** floor(log10(top))
    steps = [size * part for part in (0.2, 0.25, 0.5, 1, 2, 2.5)]
    if unit in ("s", "dtdurations") and top >= 120:
        steps = [60.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 21600.0, 86400.0]
    step = next((step for step in steps if top / step <= 4), top)
    count = ceil(round(top / step, 6))
    return step * count, [step * place for place in range(count + 1)]


def _grid(frame: Frame, top: float, ticks: Sequence[float], unit: str) -> str:
    drawn = [_times(frame)]
    for value in ticks:
        y = frame.y + frame.height * (1 - value / top)
        drawn.append(tag("path", d=f"M{frame.x:.0f} {y:.1f}h{frame.width:.0f}", stroke=LINES, stroke_width=0.7))
        plain = "short" if unit in ("reqps", "ops") else unit
        text = written(value, plain, 1 if unit == "percentunit" and top < 0.1 else None)
        drawn.append(words(frame.x - 4, y + 3, text, 9, FAINT, text_anchor="end"))
    return "".join(drawn)


def _times(frame: Frame) -> str:
    """The minutes since the beginning, below the frame."""
    whole = frame.until - frame.since
    step = next((size for size in (15, 30, 60, 120, 300) if whole / size <= frame.width / 45), 600)
    moments = range(0, int(whole) + 1, step)
    marks = ((frame.at(frame.since + passed), f"{passed // 60}:{passed % 60:02}") for passed in moments)
    return "".join(words(x, frame.y + frame.height + 13, text, 9, FAINT, text_anchor="middle") for x, text in marks)


def _keys(lines: Sequence[Line], frame: Frame) -> tuple[str, float]:
    """The legend at the lower end of a frame, and the height it takes beyond one line."""
    drawn, x, row = [], frame.x + 8, 0
    places = []
    for line in lines:
        wide = len(line.name) * 10 * LETTER + 22
        if x + wide > frame.x + frame.width and x > frame.x + 8:
            x, row = frame.x + 8, row + 1
        places.append((x, row, line))
        x += wide
    rows = row + 1 if lines else 0
    for x, row, line in places:
        y = frame.y + frame.height - 4 - (rows - 1 - row) * 13
        drawn.append(box(x, y - 7, 10, 3, line.color))
        drawn.append(words(x + 14, y - 2, cut(line.name, frame.width - 30, 10), 10))
    return "".join(drawn), rows * 13.0
