"""Links of dashboards, panels and cells."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_PROJECT = Path(__file__).parents[2] / "pyproject.toml"
DOCUMENTATION = str(tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]["urls"]["Documentation"])


class Link(NamedTuple):
    """A link of a dashboard, a panel or a cell."""

    title: str
    url: str
    outside: bool = True
    """Whether it opens in a tab of its own."""

    def of(self, cluster: str) -> "Link":
        """The link from a cell, where the column of the clusters has that name."""
        return self._replace(url=self.url.replace("${__data.fields.cluster}", f"${{__data.fields.{cluster}}}"))


def page(path: str, title: str) -> Link:
    """A page of the documentation, by its path below docs/."""
    return Link(title, f"{DOCUMENTATION}/{path}")


def runbook(alert: str) -> Link:
    """The runbook of an alert."""
    return page(f"runbooks/{alert}.md", f"Runbook: {alert}")


ABOUT = (page("dashboards.md", "About these dashboards"), page("runbooks", "Runbooks"))
"""The links of every dashboard."""

ABOUT_PHASES = page("guide.md#phases", "Phases")
ABOUT_CLOCKS = page("guide.md#clocks", "Clocks")
REASONS = page("reasons.md#stuck", "Every reason, and what to do")
SILENT = page("guide.md#when-muster-itself-is-silent", "When Muster itself is silent")
ROLL_CALL = Link("Roll call of this experiment", "${musterd}/experiments/${namespace}/${experiment}?cluster=${cluster}")

NAMES = ("namespace", "experiment")
"""The labels that a table must have for the links to an experiment."""

TO_EXPERIMENT: Mapping[str, Sequence[Link]] = {
    "experiment": (
        Link(
            "Dashboard of this experiment",
            "/d/muster-experiment?var-cluster=${__data.fields.cluster}&var-namespace=${__data.fields.namespace}&var-experiment=${__data.fields.experiment}"
            "&${datasource:queryparam}&${musterd:queryparam}&${__url_time_range}",
            outside=False,
        ),
        Link(
            "Roll call of this experiment",
            "${musterd}/experiments/${__data.fields.namespace}/${__data.fields.experiment}"
            "?cluster=${__data.fields.cluster}",
        ),
    )
}
"""From the cells of a column to the experiment of their row."""

TO_RUNBOOK: Mapping[str, Sequence[Link]] = {
    "alertname": (Link("Runbook of this alert", "${musterd}/runbooks/${__data.fields.alertname}.md"),)
}
"""From the cells of a column to the runbook of the alert."""
