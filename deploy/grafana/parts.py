"""What panels are made of: queries, columns, thresholds and colors."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from grafana_foundation_sdk.builders import dashboard, prometheus
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

GREEN, YELLOW, ORANGE, RED, BLUE, PURPLE, GREY = "green", "yellow", "orange", "red", "blue", "purple", "gray"
CYAN = "light-blue"

Steps = Sequence[tuple[float | None, str]]
"""Thresholds: each value at which a color begins. The first is None, for what is below the second."""

PLAIN: Steps = ((None, BLUE),)
GOODPUT: Steps = ((None, GREY), (0, RED), (0.5, YELLOW), (0.8, GREEN))
TIME_LEFT: Steps = ((None, GREY), (-1e9, RED), (300, ORANGE), (1800, GREEN))
"""The first color is that of a panel without data."""

BAD_FROM_ONE: Steps = ((None, GREEN), (1, RED))

SOURCE = model.DataSourceRef(type_val="prometheus", uid="${datasource}")
"""The Prometheus that the reader chooses at the top of the dashboard."""

_PROJECT = Path(__file__).parents[2] / "pyproject.toml"
DOCUMENTATION = str(tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]["urls"]["Documentation"])


class Link(NamedTuple):
    """A link of a panel or of a cell."""

    title: str
    url: str
    outside: bool = True
    """Whether it opens in a tab of its own."""


def page(path: str, title: str) -> Link:
    """A page of the documentation, by its path below docs/."""
    return Link(title, f"{DOCUMENTATION}/{path}")


def runbook(alert: str) -> Link:
    """The runbook of an alert."""
    return page(f"runbooks/{alert}.md", f"Runbook: {alert}")


@dataclass(frozen=True, slots=True)
class Query:
    """A PromQL expression and the name of the series it returns. Without a name Grafana lists the labels."""

    expr: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: a query whose value it shows."""

    title: str
    expr: str
    unit: str = "none"
    steps: Steps | None = None
    decimals: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What every panel has.

    ``number`` is the panel's id. It stays the same when other panels are added, so that a link to one panel
    (``?viewPanel=panel-12``) goes on working. ``width`` is in columns of the grid, which has 24.
    """

    number: int
    title: str
    description: str
    width: int
    links: Sequence[Link] = ()


def letter(place: int) -> str:
    """The name of a panel's query by its place: A, B, C."""
    return chr(ord("A") + place)


def targets(queries: Sequence[Query], *, instant: bool = False, table: bool = False) -> list[prometheus.Dataquery]:
    """The queries of a panel."""
    found = []
    for place, query in enumerate(queries):
        target = prometheus.Dataquery().expr(query.expr).ref_id(letter(place)).datasource(SOURCE)
        if query.legend:
            target.legend_format(query.legend)
        if table:
            target.format(PromQueryFormat.TABLE)
        found.append(target.instant() if instant else target.range())
    return found


def thresholds(steps: Steps) -> dashboard.ThresholdsConfig:
    """The thresholds of a panel or column."""
    found = [model.Threshold(value=value, color=color) for value, color in steps]
    return dashboard.ThresholdsConfig().mode(model.ThresholdsMode.ABSOLUTE).steps(found)


def fixed(color: str) -> model.DynamicConfigValue:
    """One color for all values of a series."""
    return model.DynamicConfigValue("color", {"mode": "fixed", "fixedColor": color})
