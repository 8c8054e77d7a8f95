"""The kinds of panels on the Muster dashboards."""

from collections.abc import Mapping, Sequence

from grafana_foundation_sdk.builders import common, dashboard, stat, statetimeline, table, timeseries
from grafana_foundation_sdk.models import common as options
from grafana_foundation_sdk.models import dashboard as model

from deploy.grafana.parts import (
    BLUE,
    CYAN,
    GREEN,
    GREY,
    PLAIN,
    SOURCE,
    Column,
    Head,
    Link,
    Query,
    Steps,
    fixed,
    letter,
    targets,
    thresholds,
)

Panel = stat.Panel | timeseries.Panel | statetimeline.Panel | table.Panel

STAT_HEIGHT = 4
HEIGHT = 8

_CALM = {GREEN, BLUE, CYAN, GREY}
_WORDS = {"reason": 210, "alertname": 220}
"""Columns whose longest words must not be cut, with their widths in pixels."""


def single(
    head: Head,
    queries: Sequence[Query],
    unit: str,
    steps: Steps = PLAIN,
    *,
    empty: str = "no data",
    name_colors: Mapping[str, str] | None = None,
    decimals: int | None = None,
) -> Panel:
    """The last value of each query. With ``name_colors`` the series' names are shown in place of their values.

    The block is colored where it needs attention: calm colors are left out.
    """
    by_name = name_colors is not None
    panel = (
        stat.Panel()
        .unit(unit)
        .thresholds(thresholds([(value, _block(color)) for value, color in steps]))
        .color_mode(options.BigValueColorMode.BACKGROUND)
        .graph_mode(options.BigValueGraphMode.NONE)
        .text_mode(options.BigValueTextMode.NAME if by_name else options.BigValueTextMode.AUTO)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).values(False))
        .no_value(empty)
        .height(STAT_HEIGHT)
        .targets([*targets(queries, instant=True)])
    )
    if decimals is not None:
        panel.decimals(decimals)
    for name, color in (name_colors or {}).items():
        panel.override_by_name(name, [fixed(_block(color))])
    return _finished(panel, head)


def _block(color: str) -> str:
    return "transparent" if color in _CALM else color


def series(
    head: Head,
    queries: Sequence[Query],
    unit: str,
    *,
    stacked: bool = False,
    stepped: bool = False,
    steps: Steps | None = None,
    colors: Mapping[str, str] | None = None,
    top: float | None = None,
    empty: str = "no data",
) -> Panel:
    """Values over time, from zero. ``steps`` are drawn as lines; ``colors`` belong to series by their names."""
    panel = (
        timeseries.Panel()
        .unit(unit)
        .min(0)
        .line_width(1)
        .fill_opacity(40 if stacked else 10)
        .line_interpolation(options.LineInterpolation.STEP_AFTER if stepped else options.LineInterpolation.LINEAR)
        .show_points(options.VisibilityMode.AUTO)
        .legend(_legend(shown=True))
        .tooltip(common.VizTooltipOptions().mode(options.TooltipDisplayMode.MULTI).sort(options.SortOrder.DESCENDING))
        .no_value(empty)
        .height(HEIGHT)
        .targets([*targets(queries)])
    )
    if stacked:
        panel.stacking(common.StackingConfig().mode(options.StackingMode.NORMAL))
    if top is not None:
        panel.max(top)
    if steps:
        dashed = common.GraphThresholdsStyleConfig().mode(options.GraphThresholdsStyleMode.DASHED)
        panel.thresholds(thresholds(steps)).thresholds_style(dashed)
    for name, color in (colors or {}).items():
        panel.override_by_name(name, [fixed(color)])
    return _finished(panel, head)


def timeline(head: Head, queries: Sequence[Query], states: Mapping[int, tuple[str, str]]) -> Panel:
    """States over time, a row for each series. ``states`` gives the text and the color of each value."""
    shown: dict[str, model.ValueMappingResult] = {
        str(value): model.ValueMappingResult(text=text, color=color, index=place)
        for place, (value, (text, color)) in enumerate(states.items())
    }
    panel = (
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
        .targets([*targets(queries)])
    )
    return _finished(panel, head)


def listing(
    head: Head,
    columns: Sequence[Column],
    *,
    labels: Sequence[str],
    empty: str,
    sort: str,
    descending: bool = True,
    cell_links: Mapping[str, Sequence[Link]] | None = None,
    height: int = HEIGHT,
) -> Panel:
    """A table with one row for each set of labels: first their columns, then those of the queries.

    ``cell_links`` open from the cells of the label that they are given for.
    """
    headings = {name: name for name in labels}
    for place, column in enumerate(columns):
        headings[f"Value #{letter(place)}" if len(columns) > 1 else "Value"] = column.title
    arranged = {
        "excludeByName": {"Time": True},
        "indexByName": {name: place for place, name in enumerate(headings)},
        "renameByName": headings,
    }
    panel = (
        table.Panel()
        .unit("none")
        .height(height)
        .no_value(empty)
        .targets([*targets([Query(column.expr) for column in columns], instant=True, table=True)])
        .with_transformation(model.DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(model.DataTransformerConfig(id_val="organize", options=arranged))
        .sort_by([common.TableSortByFieldState().display_name(sort).desc(descending)])
    )
    for name in labels:
        words = [model.DynamicConfigValue("custom.cellOptions", {"type": "auto", "wrapText": True})]
        if name in _WORDS:
            words.append(model.DynamicConfigValue("custom.width", _WORDS[name]))
        panel.override_by_name(name, words)
    for column in columns:
        properties = [model.DynamicConfigValue("unit", column.unit)]
        if column.decimals is not None:
            properties.append(model.DynamicConfigValue("decimals", column.decimals))
        if column.steps:
            properties += [
                model.DynamicConfigValue("thresholds", thresholds(column.steps).build()),
                model.DynamicConfigValue("color", {"mode": "thresholds"}),
                model.DynamicConfigValue("custom.cellOptions", {"type": "color-text"}),
            ]
        panel.override_by_name(column.title, properties)
    for name, opened in (cell_links or {}).items():
        links = [{"title": link.title, "url": link.url, "targetBlank": link.outside} for link in opened]
        panel.override_by_name(name, [model.DynamicConfigValue("links", links)])
    return _finished(panel, head)


def _legend(*, shown: bool) -> common.VizLegendOptions:
    legend = common.VizLegendOptions().display_mode(options.LegendDisplayMode.LIST).show_legend(shown)
    return legend.placement(options.LegendPlacement.BOTTOM)


def _finished(panel: Panel, head: Head) -> Panel:
    panel.id(head.number).title(head.title).description(head.description).span(head.width).datasource(SOURCE)
    links = [dashboard.DashboardLink(link.title).url(link.url).target_blank(link.outside) for link in head.links]
    if links:
        panel.links([*links])
    return panel
