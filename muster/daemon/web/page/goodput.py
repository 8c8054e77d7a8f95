"""Where the time of an experiment went: a bar for each bucket that has any.

Figures are drawn in steps, so that the part is not sent to each reader every second.
"""

from muster.api.goodput import BY_PHASE, WASTED, Basis, Bucket
from muster.api.values.humanize import age
from muster.daemon.web.page.html import Html, Part, bar, element, part
from muster.rollcall.document import TimeReport

FINE, COARSE = 10, 60
"""Seconds in whose multiples a figure is shown, below two minutes and above."""


def goodput(one: TimeReport) -> Part:
    """One row for each bucket, in the order in which a run goes through them."""
    wall = sum(one.seconds.values())
    rows = [_row(each, one.seconds[each.value], wall) for each in Bucket if one.seconds.get(each.value)]
    table = element("table", element("tbody", *rows), class_="clocks")
    lines = [table]
    if one.basis == Basis.PHASE:
        lines.append(element("p", element("small", f"{BY_PHASE[0].upper()}{BY_PHASE[1:]}.")))
    title = element("h2", "Where the time went", id="goodput-title")
    return part("section", "goodput", title, *lines, aria_labelledby="goodput-title")


def _row(bucket: Bucket, seconds: int, wall: int) -> Html:
    percent = round(100 * seconds / wall)
    tone = "ok" if bucket is Bucket.PRODUCTIVE else "bad" if bucket in WASTED else "warn"
    step = COARSE if seconds >= 2 * COARSE else FINE
    shown = age(seconds - seconds % step) if seconds >= FINE else f"less than {FINE}s"
    return element(
        "tr",
        element("th", bucket.value.replace("_", " "), scope="row"),
        element("td", bar(percent, tone, means=f"{percent} % of the time"), class_="wide"),
        element("td", shown, class_="number"),
        element("td", f"{percent} %", class_="number"),
    )
