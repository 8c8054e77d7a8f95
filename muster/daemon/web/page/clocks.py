"""The clocks of an experiment as bars: how much of each has passed, what is left, and what follows."""

from collections.abc import Sequence

from muster.api.values.humanize import age
from muster.daemon.web.page.html import Html, Part, bar, element, part
from muster.daemon.web.page.times import left, seconds_of
from muster.rollcall.document import DeadlineReport

NEAR = 0.9
"""The share of a clock from which its bar warns."""

_MEANINGS = {
    "total": "from the start to the end",
    "pending": "until every member has a node",
    "starting": "until the first program runs",
    "assembly": "until every rank has arrived",
    "run": "from the complete roll to the end",
    "progress": "since the last sign of progress",
    "terminating": "until the old pods are gone",
}


def clocks(deadlines: Sequence[DeadlineReport], now: float) -> Part:
    """One row for each running clock."""
    rows = [_row(each, now) for each in deadlines]
    table = element("table", element("tbody", *rows), class_="clocks")
    return part("section", "clocks", element("h2", "Clocks", id="clocks-title"), table, aria_labelledby="clocks-title")


def _row(one: DeadlineReport, now: float) -> Html:
    begin = seconds_of(one.until) - one.limit
    passed = min(1.0, max(0.0, (now - begin) / one.limit)) if one.limit > 0 else 1.0
    tone = "bad" if passed >= 1 else "warn" if passed >= NEAR else "ok"
    percent = round(100 * passed)
    return element(
        "tr",
        element("th", one.clock, element("small", _MEANINGS.get(one.clock, "")), scope="row"),
        element("td", bar(percent, tone, means=f"{percent} % have passed"), class_="wide"),
        element("td", left(one.until, now), element("small", f" of {age(one.limit)}"), class_="number"),
        element("td", f"then {one.action}"),
    )
