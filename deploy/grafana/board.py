"""A dashboard: its variables, its links, and its panels in rows."""

from collections.abc import Sequence
from dataclasses import dataclass

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as model

from deploy.grafana.marks import Mark
from deploy.grafana.panels import Panel
from deploy.grafana.parts import SOURCE, Link

TAG = "muster"

ROLL_CALL = "${musterd}/experiments"
"""The roll-call page of one experiment is below this address, by namespace and name."""


@dataclass(frozen=True, slots=True)
class Row:
    """Panels under a heading."""

    title: str
    panels: Sequence[Panel]


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One dashboard. ``name`` is its file and its uid: both stay the same from release to release."""

    name: str
    title: str
    description: str
    variables: Sequence[dashboard.QueryVariable]
    rows: Sequence[Row]
    links: Sequence[Link]
    marks: Sequence[Mark] = ()
    since: str = "now-6h"

    def json(self) -> str:
        """The file that Grafana imports."""
        return JSONEncoder(sort_keys=True, indent=2).encode(self._built()) + "\n"

    def _built(self) -> model.Dashboard:
        built = (
            dashboard.Dashboard(self.title)
            .uid(self.name)
            .description(self.description)
            .tags([TAG])
            .editable()
            .tooltip(model.DashboardCursorSync.CROSSHAIR)
            .time(self.since, "now")
            .refresh("30s")
            .timezone("browser")
            .with_variable(dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus"))
        )
        for variable in self.variables:
            built.with_variable(variable)
        built.with_variable(
            dashboard.TextBoxVariable("musterd")
            .label("Roll-call page")
            .description("Address of musterd's roll-call page, which the links to single experiments lead to")
            .default_value("http://localhost:8080")
        )
        for mark in self.marks:
            built.annotation(mark)
        boards = dashboard.DashboardLink("Muster").type(model.DashboardLinkType.DASHBOARDS).tags([TAG])
        built.link(boards.as_dropdown(True).include_vars(True).keep_time(True))
        for link in self.links:
            built.link(
                dashboard.DashboardLink(link.title)
                .type(model.DashboardLinkType.LINK)
                .icon("external link")
                .url(link.url)
                .target_blank(link.outside)
            )
        for place, row in enumerate(self.rows):
            built.with_row(dashboard.Row(row.title).id(1000 + place))
            for panel in row.panels:
                built.with_panel(panel)
        return built.build()


def variable(name: str, label: str, values: str, *, many: bool) -> dashboard.QueryVariable:
    """A choice among label values. ``values`` is what Grafana asks: ``label_values(metric, label)``.

    "All" stands for exactly these values: other programs may export metrics of the same name.
    """
    found = (
        dashboard.QueryVariable(name)
        .label(label)
        .query({"query": values, "refId": "StandardVariableQuery"})
        .datasource(SOURCE)
        .refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(model.VariableSort.ALPHABETICAL_ASC)
        .multi(many)
        .include_all(many)
    )
    if many:
        found.current(model.VariableOption(text="All", value="$__all"))
    return found
