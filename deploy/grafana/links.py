"""Links of dashboards, panels and cells."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from muster.metrics.runbooks import PLACES

_PROJECT = Path(__file__).parents[2] / "pyproject.toml"
DOCUMENTATION = str(tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]["urls"]["Documentation"])


class Link(NamedTuple):
    """A link of a dashboard, a panel or a cell."""

    title: str
    url: str
    outside: bool = True
    """True if it opens in a tab of its own."""


def _page(title: str, path: str) -> Link:
    return Link(title, f"{DOCUMENTATION}/{path}")


PAGES: Mapping[str, Link] = {
    "about": _page("About these dashboards", "dashboards.md"),
    "buckets": _page("What each bucket means", "goodput.md"),
    "clocks": _page("Clocks", "guide.md#clocks"),
    "ends": _page("Every reason", "reasons.md#why-an-epoch-ended"),
    "goodput": _page("Goodput", "goodput.md"),
    "metrics": _page("Metrics", "metrics.md"),
    "owners": _page("Labels of owners", "platform.md"),
    "phases": _page("Phases", "guide.md#phases"),
    "reasons": _page("Every reason, and what to do", "reasons.md#stuck"),
    "runbooks": _page("Runbooks", "runbooks"),
    "silent": _page("When Muster itself is silent", "guide.md#when-muster-itself-is-silent"),
    "roll-call": Link(
        "Roll call of this experiment", "${musterd}/experiments/${namespace}/${experiment}?cluster=${cluster}"
    ),
}


def links_of(names: str) -> Iterator[Link]:
    """Yield the links of names that are separated by spaces: keys of ``PAGES``, and alerts, for their runbooks."""
    for name in names.split():
        yield _page(f"Runbook: {name}", f"runbooks/{PLACES[name]}") if name in PLACES else PAGES[name]


FROM_CELLS: Mapping[str, Sequence[Link]] = {
    "alertname": (Link("Runbook of this alert", "${musterd}/runbooks/${__data.fields.alertname}.md"),),
    "experiment": (
        Link(
            "Dashboard of this experiment",
            "/d/muster-experiment?var-cluster=${__data.fields.@cluster}&var-namespace=${__data.fields.namespace}"
            "&var-experiment=${__data.fields.experiment}"
            "&${datasource:queryparam}&${musterd:queryparam}&${__url_time_range}",
            outside=False,
        ),
        Link(
            "Roll call of this experiment",
            "${musterd}/experiments/${__data.fields.namespace}/${__data.fields.experiment}"
            "?cluster=${__data.fields.@cluster}",
        ),
    ),
}
"""From the cells of a column of a table, to the alert or to the experiment of their line."""
