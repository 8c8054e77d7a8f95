"""Renders a dashboard as the JSON that Grafana imports. What Grafana takes by default is left out."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from deploy.grafana.clusters import CHOICE, Scope
from deploy.grafana.links import FROM_CELLS, Link, links_of
from deploy.grafana.palette import CALM, Color, Steps
from deploy.grafana.row import Board, Choice, Column, Graph, Mark, Panel, Stack, Stat, Table, Timeline
from deploy.prometheus.clusters import LABEL, SHARD

Json = dict[str, Any]

TAG = "muster"
OWNER = "label_"
"""Prefix of the labels of owners."""
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
"""The Prometheus that the reader chooses at the top of the dashboard."""
_WIDTH = 24
_WORDS = {"reason": 210, "alertname": 220}
"""Columns whose longest words must not be cut, with their widths in pixels."""
_AT_ONCE, _OVER_TIME = {"instant": True, "range": False}, {"instant": False, "range": True}


def text(board: Board, cluster: str = LABEL) -> str:
    """Return the file that Grafana imports. ``cluster`` is the label that names the cluster."""
    scope = Scope(cluster, board.chosen, board.many)
    plain = {"asDropdown": False, "includeVars": False, "keepTime": False, "tags": [], "tooltip": ""}
    every = plain | {"asDropdown": True, "includeVars": True, "keepTime": True, "tags": [TAG]}
    boards = {"type": "dashboards", "title": "Muster", "icon": "", "targetBlank": False} | every
    pages = [{"type": "link", "icon": "external link"} | plain | link for link in _links(links_of(board.links), scope)]
    content = {
        "uid": board.name,
        "title": board.title,
        "description": board.description,
        "tags": [TAG],
        "schemaVersion": 41,
        "editable": True,
        "graphTooltip": 1,  # one crosshair on all panels
        "time": {"from": board.since, "to": "now"},
        "timezone": "browser",
        "refresh": "30s",
        "templating": {"list": list(_variables(board, scope))},
        "annotations": {"list": [_mark(mark, scope) for mark in board.marks]},
        "links": [boards, *pages],
        "panels": list(_placed(board, scope)),
    }
    return json.dumps(content, indent=2, sort_keys=True) + "\n"


def _links(links: Iterable[Link], scope: Scope) -> list[Json]:
    return [{"title": link.title, "url": scope.named(link.url), "targetBlank": link.outside} for link in links]


def _variables(board: Board, scope: Scope) -> Iterator[Json]:
    one = {"multi": False, "includeAll": False}
    yield {"type": "datasource", "name": "datasource", "label": "Data source", "query": "prometheus"} | one
    every = ".*" if board.many else ""  # a label that no series has has no values
    yield _variable(Choice(CHOICE, "Cluster", f"label_values(muster_build_info, {scope.cluster})", board.many, every))
    if board.many:
        known = f'label_values(muster_build_info{{{scope.cluster}=~"${CHOICE}"}}, {SHARD})'
        yield _variable(Choice(SHARD, "Shard", known, board.many, every))
    for choice in board.choices:
        yield _variable(replace(choice, values=scope.query(choice.values)))
    about = "Address of musterd's roll-call page, which the links to single experiments lead to"
    page = {"name": "musterd", "label": "Roll-call page", "description": about, "query": "http://localhost:8080"}
    yield {"type": "textbox"} | page | one


def _variable(choice: Choice) -> Json:
    shown: Json = {"type": "query", "name": choice.name, "label": choice.label, "datasource": _SOURCE}
    shown |= {"query": {"query": choice.values, "refId": "StandardVariableQuery"}}
    shown |= {"refresh": 2, "sort": 1}  # when the range of time changes; by the alphabet
    shown |= {"multi": choice.many, "includeAll": choice.many}
    shown |= {"current": {"text": "All", "value": "$__all"}} if choice.many else {}
    return shown | ({"allValue": choice.every} if choice.every else {})


def _mark(mark: Mark, scope: Scope) -> Json:
    shown = {"name": mark.name, "expr": scope.query(mark.expr), "titleFormat": mark.title, "iconColor": mark.color}
    return shown | {"datasource": _SOURCE, "enable": True, "hide": False}


def _placed(board: Board, scope: Scope) -> Iterator[Json]:
    """Yield the panels with their places: from left to right, and below the highest where the width is used up."""
    left, top, highest, headings = 0, 0, 0, count(1000)
    for row in board.rows:
        if isinstance(row, str):
            shown: Json = {"type": "row", "id": next(headings), "title": row, "collapsed": False, "panels": []}
            width, height = _WIDTH, 1
        else:
            shown, width, height = _panel(row, scope), row.width, row.height
        if left + width > _WIDTH:
            left, top, highest = 0, top + highest, 0
        yield shown | {"gridPos": {"x": left, "y": top, "w": width, "h": height}}
        left, highest = left + width, max(highest, height)


def _panel(panel: Panel, scope: Scope) -> Json:
    asked: Json
    match panel:
        case Stat():
            shown, queries, asked = _stat(panel), panel.queries, _AT_ONCE
        case Graph():
            shown, queries, asked = _graph(panel), panel.queries, _OVER_TIME | {"exemplar": panel.exemplars}
        case Timeline():
            shown, queries, asked = _timeline(panel), panel.queries, _OVER_TIME
        case Table():
            shown, asked = _table(panel, scope), _AT_ONCE | {"format": "table"}
            queries = {column.title: column.expr for column in panel.columns}
        case _:
            raise TypeError(type(panel))
    targets = [
        {"refId": _letter(place), "datasource": _SOURCE, "expr": scope.query(expr), **asked}
        | ({"legendFormat": scope.named(name)} if name and not isinstance(panel, Table) else {})
        for place, (name, expr) in enumerate(({"": queries} if isinstance(queries, str) else queries).items())
    ]
    if panel.empty:
        shown["fieldConfig"]["defaults"]["noValue"] = panel.empty
    shown |= {"id": panel.number, "title": panel.title, "description": panel.about}
    shown |= {"datasource": _SOURCE, "targets": targets}
    return shown | ({"links": _links(links_of(panel.links), scope)} if panel.links else {})


def _stat(panel: Stat) -> Json:
    defaults: Json = {"unit": panel.unit, "thresholds": _thresholds([(at, _block(color)) for at, color in panel.steps])}
    defaults |= {} if panel.decimals is None else {"decimals": panel.decimals}
    options = {"colorMode": "background", "graphMode": "none", "textMode": "auto" if panel.names is None else "name"}
    colors = {name: _block(color) for name, color in (panel.names or {}).items()}
    return {
        "type": "stat",
        "options": options | {"reduceOptions": {"calcs": ["lastNotNull"], "values": False}},
        "fieldConfig": {"defaults": defaults, "overrides": _fixed(colors)},
    }


def _graph(panel: Graph) -> Json:
    stacked = isinstance(panel, Stack)
    line: Json = {"lineWidth": 1, "fillOpacity": 40 if stacked else 10, "showPoints": "auto"}
    line["lineInterpolation"] = "stepAfter" if panel.stepped else "linear"
    line |= {"stacking": {"mode": "normal"}} if stacked else {}
    line |= {"thresholdsStyle": {"mode": "dashed"}} if panel.steps else {}
    defaults: Json = {"unit": panel.unit, "min": 0, "custom": line}
    defaults |= {} if panel.top is None else {"max": panel.top}
    defaults |= {"thresholds": _thresholds(panel.steps)} if panel.steps else {}
    return {
        "type": "timeseries",
        "options": {"legend": _legend(shown=True), "tooltip": {"mode": "multi", "sort": "desc"}},
        "fieldConfig": {"defaults": defaults, "overrides": _fixed(panel.colors)},
    }


def _timeline(panel: Timeline) -> Json:
    states = {
        str(value): {"text": state, "color": color, "index": place}
        for place, (value, (state, color)) in enumerate(panel.states.items())
    }
    defaults = {"unit": "none", "mappings": [{"type": "value", "options": states}], "color": {"mode": "thresholds"}}
    return {
        "type": "state-timeline",
        "options": {"showValue": "auto", "mergeValues": True, "rowHeight": 0.85, "legend": _legend(shown=False)},
        "fieldConfig": {"defaults": defaults | {"custom": {"fillOpacity": 85, "lineWidth": 0}}, "overrides": []},
    }


def _legend(*, shown: bool) -> Json:
    return {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": shown}


def _table(panel: Table, scope: Scope) -> Json:
    """Return a table, which has cluster and shard as its first columns where its lines are of one cluster."""
    labels = panel.labels.split()
    labels = [*scope.labels, *labels] if "namespace" in labels else labels
    names = [f"Value #{_letter(place)}" for place in range(len(panel.columns))] if panel.columns[1:] else ["Value"]
    headings = dict(zip(labels, labels, strict=True))
    headings |= {name: column.title for name, column in zip(names, panel.columns, strict=True)}
    steps: list[Json] = [{"id": "merge", "options": {}}]
    if panel.owners:  # their columns are kept, and label_team is called team
        pattern = "|".join((*labels, OWNER + ".+", "Value.*"))
        steps.append({"id": "filterFieldsByName", "options": {"include": {"pattern": f"^({pattern})$"}}})
        steps.append({"id": "renameByRegex", "options": {"regex": f"^{OWNER}(.+)$", "renamePattern": "$1"}})
    order = {name: place for place, name in enumerate(headings)}
    arranged = {"excludeByName": {"Time": True}, "indexByName": order, "renameByName": headings}
    linked = FROM_CELLS.keys() if scope.many else FROM_CELLS.keys() - {"experiment"}  # that would lead here
    overrides = [
        *(_override(name, _words(name)) for name in labels),
        *(_override(column.title, _properties(column)) for column in panel.columns),
        *(_override(name, {"links": _links(FROM_CELLS[name], scope)}) for name in labels if name in linked),
    ]
    return {
        "type": "table",
        "options": {"sortBy": [{"displayName": panel.sort or panel.columns[0].title, "desc": panel.descending}]},
        "fieldConfig": {"defaults": {"unit": "none"}, "overrides": overrides},
        "transformations": [*steps, {"id": "organize", "options": arranged}],
    }


def _words(label: str) -> Json:
    width = {"custom.width": _WORDS[label]} if label in _WORDS else {}
    return {"custom.cellOptions": {"type": "auto", "wrapText": True}} | width


def _properties(column: Column) -> Json:
    shown: Json = {"unit": column.unit}
    shown |= {} if column.decimals is None else {"decimals": column.decimals}
    if column.steps:
        shown |= {"thresholds": _thresholds(column.steps), "color": {"mode": "thresholds"}}
        shown["custom.cellOptions"] = {"type": "color-text"}
    return shown


def _fixed(colors: Mapping[str, Color]) -> list[Json]:
    """Return one color for all values of a series, for each of these series."""
    return [_override(name, {"color": {"mode": "fixed", "fixedColor": color}}) for name, color in colors.items()]


def _override(name: str, properties: Json) -> Json:
    listed = [{"id": key, "value": value} for key, value in properties.items()]
    return {"matcher": {"id": "byName", "options": name}, "properties": listed}


def _letter(place: int) -> str:
    """Return the name of a panel's query by its place: A, B, C."""
    return chr(ord("A") + place)


def _thresholds(steps: Steps) -> Json:
    return {"mode": "absolute", "steps": [{"value": value, "color": color} for value, color in steps]}


def _block(color: Color) -> Color:
    return "transparent" if color in CALM else color
