"""Builds a dashboard from its rows, with Grafana's SDK."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, statetimeline, table, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as options
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from deploy.grafana.clusters import CHOICE, kept, named
from deploy.grafana.links import runbook
from deploy.grafana.marks import SOURCE
from deploy.grafana.palette import CALM, Steps
from deploy.grafana.row import HEIGHT, STAT_HEIGHT, Board, Choice, Column, Graph, Panel, Queries, Stat, Table, Timeline
from deploy.prometheus.clusters import LABEL, SHARD

TAG = "muster"
OWNER = "label_"
"""What the labels of owners begin with."""
_WORDS = {"reason": 210, "alertname": 220}
"""Columns whose longest words must not be cut, with their widths in pixels."""

_Built = stat.Panel | timeseries.Panel | statetimeline.Panel | table.Panel


def text(board: Board, cluster: str = LABEL) -> str:
    """The file that Grafana imports. ``cluster`` is the label that names the cluster."""
    return JSONEncoder(sort_keys=True, indent=2).encode(_board(board, cluster)) + "\n"


def _board(board: Board, cluster: str) -> model.Dashboard:
    keep = partial(kept, label=cluster, many=board.many)
    built = (
        dashboard.Dashboard(board.title)
        .uid(board.name)
        .description(board.description)
        .tags([TAG])
        .editable()
        .tooltip(model.DashboardCursorSync.CROSSHAIR)
        .time(board.since, "now")
        .refresh("30s")
        .timezone("browser")
        .with_variable(dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus"))
    )
    clusters = Choice(CHOICE, "Cluster", f"label_values(muster_build_info, {cluster})", many=board.many)
    built.with_variable(_variable(clusters, whatever=".*" if board.many else ""))
    if board.many:
        known = f'label_values(muster_build_info{{{cluster}=~"${CHOICE}"}}, {SHARD})'
        built.with_variable(_variable(Choice(SHARD, "Shard", known, many=True), whatever=".*"))
    for choice in board.choices:
        # All namespaces are also those whose runs have no series of their own, and _other of the counters.
        whatever = ".*" if choice.many and choice.name == "namespace" else ""
        built.with_variable(_variable(replace(choice, values=keep(choice.values)), whatever))
    built.with_variable(
        dashboard.TextBoxVariable("musterd")
        .label("Roll-call page")
        .description("Address of musterd's roll-call page, which the links to single experiments lead to")
        .default_value("http://localhost:8080")
    )
    for mark in board.marks:
        built.annotation(replace(mark, expr=keep(mark.expr)))
    boards = dashboard.DashboardLink("Muster").type(model.DashboardLinkType.DASHBOARDS).tags([TAG])
    built.link(boards.as_dropdown(True).include_vars(True).keep_time(True))
    for link in board.links:
        shown = dashboard.DashboardLink(link.title).type(model.DashboardLinkType.LINK).icon("external link")
        built.link(shown.url(link.url).target_blank(link.outside))
    for place, (heading, panels) in enumerate(board.rows.items()):
        built.with_row(dashboard.Row(heading).id(1000 + place))
        for panel in panels:
            built.with_panel(_panel(_in_clusters(panel, keep, cluster, (cluster, SHARD) if board.many else (cluster,))))
    return built.build()


def _in_clusters(panel: Panel, keep: Callable[[str], str], cluster: str, columns_before: tuple[str, ...]) -> Panel:
    """The panel with cluster and shard in its queries, and as first columns of a table of what is of one cluster."""
    match panel:
        case Table():
            columns = [replace(column, expr=keep(column.expr)) for column in panel.columns]
            first = columns_before if "namespace" in panel.labels else ()
            links = {name: [link.of(cluster) for link in links] for name, links in panel.cell_links.items()}
            return replace(panel, columns=columns, labels=(*first, *panel.labels), cell_links=links)
        case Stat() | Graph() | Timeline():
            if isinstance(panel.queries, str):
                return replace(panel, queries=keep(panel.queries))
            return replace(panel, queries={named(name, cluster): keep(expr) for name, expr in panel.queries.items()})
        case _:
            raise TypeError(type(panel))


def _variable(choice: Choice, whatever: str = "") -> dashboard.QueryVariable:
    """A variable of the dashboard. "All" stands for exactly its values: other programs may export the same metric.

    With ``whatever`` it stands for that pattern: a label that no series has has no values, and a choice may have fewer
    than what is selected by it.
    """
    built = (
        dashboard.QueryVariable(choice.name)
        .label(choice.label)
        .query({"query": choice.values, "refId": "StandardVariableQuery"})
        .datasource(SOURCE)
        .refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(model.VariableSort.ALPHABETICAL_ASC)
        .multi(choice.many)
        .include_all(choice.many)
    )
    if choice.many:
        built.current(model.VariableOption(text="All", value="$__all"))
    if whatever:
        built.all_value(whatever)
    return built


def _panel(panel: Panel) -> _Built:
    built: _Built
    match panel:
        case Stat():
            built = _stat(panel)
        case Graph():
            built = _graph(panel)
        case Timeline():
            built = _timeline(panel)
        case Table():
            built = _table(panel)
        case _:
            raise TypeError(type(panel))
    number, width, title = panel.head
    built.id(number).title(title).description(panel.description).span(width).datasource(SOURCE)
    links = [runbook(link) if isinstance(link, str) else link for link in panel.links]
    if links:
        built.links([dashboard.DashboardLink(link.title).url(link.url).target_blank(link.outside) for link in links])
    return built


def _stat(panel: Stat) -> stat.Panel:
    by_name = panel.name_colors is not None
    built = (
        stat.Panel()
        .unit(panel.unit)
        .thresholds(_thresholds([(value, _block(color)) for value, color in panel.steps]))
        .color_mode(options.BigValueColorMode.BACKGROUND)
        .graph_mode(options.BigValueGraphMode.NONE)
        .text_mode(options.BigValueTextMode.NAME if by_name else options.BigValueTextMode.AUTO)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).values(False))
        .no_value(panel.empty)
        .height(STAT_HEIGHT)
        .targets([target.instant() for target in _targets(panel.queries)])
    )
    if panel.decimals is not None:
        built.decimals(panel.decimals)
    for name, color in (panel.name_colors or {}).items():
        built.override_by_name(name, [_fixed(_block(color))])
    return built


def _graph(panel: Graph) -> timeseries.Panel:
    built = (
        timeseries.Panel()
        .unit(panel.unit)
        .min(0)
        .line_width(1)
        .fill_opacity(40 if panel.stacked else 10)
        .line_interpolation(options.LineInterpolation.STEP_AFTER if panel.stepped else options.LineInterpolation.LINEAR)
        .show_points(options.VisibilityMode.AUTO)
        .legend(_legend(shown=True))
        .tooltip(common.VizTooltipOptions().mode(options.TooltipDisplayMode.MULTI).sort(options.SortOrder.DESCENDING))
        .no_value(panel.empty)
        .height(HEIGHT)
        .targets([target.range().exemplar(panel.exemplars) for target in _targets(panel.queries)])
    )
    if panel.stacked:
        built.stacking(common.StackingConfig().mode(options.StackingMode.NORMAL))
    if panel.top is not None:
        built.max(panel.top)
    if panel.steps:
        dashed = common.GraphThresholdsStyleConfig().mode(options.GraphThresholdsStyleMode.DASHED)
        built.thresholds(_thresholds(panel.steps)).thresholds_style(dashed)
    for name, color in panel.colors.items():
        built.override_by_name(name, [_fixed(color)])
    return built


def _timeline(panel: Timeline) -> statetimeline.Panel:
    shown: dict[str, model.ValueMappingResult] = {
        str(value): model.ValueMappingResult(text=state, color=color, index=place)
        for place, (value, (state, color)) in enumerate(panel.states.items())
    }
    return (
        statetimeline.Panel()
        .unit("none")
        .mappings([model.ValueMap(shown)])
        .color_scheme(dashboard.FieldColor().mode(model.FieldColorModeId.THRESHOLDS))
        .show_value(options.VisibilityMode.AUTO)
        .merge_values(True)
        .row_height(0.85)
        .fill_opacity(85)
        .legend(_legend(shown=False))
        .height(HEIGHT)
        .targets([target.range() for target in _targets(panel.queries)])
    )


def _table(panel: Table) -> table.Panel:
    headings = {name: name for name in panel.labels}
    for place, column in enumerate(panel.columns):
        headings[f"Value #{_letter(place)}" if len(panel.columns) > 1 else "Value"] = column.title
    arranged = {
        "excludeByName": {"Time": True},
        "indexByName": {name: place for place, name in enumerate(headings)},
        "renameByName": headings,
    }
    targets = [_target(place, column.expr).instant() for place, column in enumerate(panel.columns)]
    built = (
        table.Panel()
        .unit("none")
        .height(panel.height)
        .no_value(panel.empty)
        .targets([target.format(PromQueryFormat.TABLE) for target in targets])
        .with_transformation(model.DataTransformerConfig(id_val="merge", options={}))
    )
    for step in _owners(panel) if panel.owners else ():
        built.with_transformation(step)
    (
        built.with_transformation(model.DataTransformerConfig(id_val="organize", options=arranged)).sort_by(
            [common.TableSortByFieldState().display_name(panel.sort).desc(panel.descending)]
        )
    )
    for name in panel.labels:
        words = [model.DynamicConfigValue("custom.cellOptions", {"type": "auto", "wrapText": True})]
        if name in _WORDS:
            words.append(model.DynamicConfigValue("custom.width", _WORDS[name]))
        built.override_by_name(name, words)
    for column in panel.columns:
        built.override_by_name(column.title, list(_properties(column)))
    for name, opened in panel.cell_links.items():
        links = [{"title": link.title, "url": link.url, "targetBlank": link.outside} for link in opened]
        built.override_by_name(name, [model.DynamicConfigValue("links", links)])
    return built


def _owners(panel: Table) -> Iterator[model.DataTransformerConfig]:
    """Keep the columns of the table and those of owners, and call ``label_team`` team."""
    kept = "|".join((*panel.labels, OWNER + ".+", "Value.*"))
    yield model.DataTransformerConfig(id_val="filterFieldsByName", options={"include": {"pattern": f"^({kept})$"}})
    yield model.DataTransformerConfig(
        id_val="renameByRegex", options={"regex": f"^{OWNER}(.+)$", "renamePattern": "$1"}
    )


def _properties(column: Column) -> Iterator[model.DynamicConfigValue]:
    yield model.DynamicConfigValue("unit", column.unit)
    if column.decimals is not None:
        yield model.DynamicConfigValue("decimals", column.decimals)
    if column.steps:
        yield model.DynamicConfigValue("thresholds", _thresholds(column.steps).build())
        yield model.DynamicConfigValue("color", {"mode": "thresholds"})
        yield model.DynamicConfigValue("custom.cellOptions", {"type": "color-text"})


def _targets(queries: Queries) -> list[prometheus.Dataquery]:
    named = {"": queries} if isinstance(queries, str) else queries
    return [_target(place, expr, name) for place, (name, expr) in enumerate(named.items())]


def _target(place: int, expr: str, name: str = "") -> prometheus.Dataquery:
    target = prometheus.Dataquery().expr(expr).ref_id(_letter(place)).datasource(SOURCE)
    return target.legend_format(name) if name else target


def _letter(place: int) -> str:
    """The name of a panel's query by its place: A, B, C."""
    return chr(ord("A") + place)


def _thresholds(steps: Steps) -> dashboard.ThresholdsConfig:
    found = [model.Threshold(value=value, color=color) for value, color in steps]
    return dashboard.ThresholdsConfig().mode(model.ThresholdsMode.ABSOLUTE).steps(found)


def _block(color: str) -> str:
    return "transparent" if color in CALM else color


def _fixed(color: str) -> model.DynamicConfigValue:
    """One color for all values of a series."""
    return model.DynamicConfigValue("color", {"mode": "fixed", "fixedColor": color})


def _legend(*, shown: bool) -> common.VizLegendOptions:
    legend = common.VizLegendOptions().display_mode(options.LegendDisplayMode.LIST).show_legend(shown)
    return legend.placement(options.LegendPlacement.BOTTOM)
