"""Puts the queries of dashboards to Prometheus as Grafana does, for every choice of their variables."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from tests.deploy.grafana.dashboards import Dashboard, Query
from tests.deploy.grafana.server import Prometheus, Series

Choice = Mapping[str, str]
"""A value for each variable of a query."""

_LABEL_VALUES = re.compile(r"label_values\((.+), (\w+)\)")
STEP = SCRAPE = 1.0
"""Seconds between two points that are asked for, and between two scrapes of the server."""

OF_GRAFANA = {"__interval": f"{STEP:g}s", "__rate_interval": f"{max(STEP + SCRAPE, 4 * SCRAPE):g}s"}
"""The variables that Grafana sets itself."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query returned for one choice of its variables: the series that have a finite value."""

    query: Query
    choice: Choice
    series: Sequence[Series]


def interpolated(text: str, choice: Choice) -> str:
    """The text with variables replaced, as Grafana does."""
    return re.sub(r"\$(\w+)", lambda found: {**OF_GRAFANA, **choice}[found[1]], text)


async def choices(server: Prometheus, dashboard: Dashboard) -> list[Choice]:
    """Every choice of a dashboard's query variables; "All" where several values may be chosen."""
    found: list[Choice] = [{}]
    for name, variable in dashboard.variables.items():
        if variable["type"] == "query":
            found = [{**choice, name: value} for choice in found for value in await _values(server, variable, choice)]
    return found


async def _values(server: Prometheus, variable: Mapping[str, Any], choice: Choice) -> list[str]:
    if variable.get("allValue"):
        return [variable["allValue"]]
    asked = interpolated(variable["query"]["query"], choice)
    parts = _LABEL_VALUES.fullmatch(asked)
    assert parts is not None, asked
    values = await server.label_values(parts[1], parts[2])
    if not values:
        return [""]
    if not variable["multi"]:
        return values
    escaped = (re.escape(value).replace("\\", "\\\\") for value in values)  # once for RE2, once for the string
    return [f"({'|'.join(escaped)})"]


def without_defaults(expr: str) -> str:
    """The expression without ``or vector(0)``, which would give data whatever stands before it."""
    return re.sub(r"\s+or\s+(on\s*\(\)\s*)?vector\(\d+\)", "", expr)


async def ask(server: Prometheus, query: Query, choice: Choice, since: float, now: float) -> Answer:
    expr = interpolated(without_defaults(query.expr), choice)
    if query.over_time:
        series = await server.query_range(expr, since, now, STEP)
    else:
        series = await server.query(expr, now)
    return Answer(query, choice, [one for one in series if any(isfinite(value) for _, value in one.points)])


async def ask_all(server: Prometheus, dashboards: Sequence[Dashboard], since: float, now: float) -> list[Answer]:
    """Put every query of the dashboards, for every choice of the variables it reads."""
    found = []
    for dashboard in dashboards:
        every = await choices(server, dashboard)
        for query in dashboard.queries:
            for choice in _distinct(every, query.variables):
                found.append(await ask(server, query, choice, since, now))
    return found


def _distinct(every: Sequence[Choice], names: frozenset[str]) -> Iterator[Choice]:
    seen = set()
    for choice in every:
        wanted = {name: choice[name] for name in sorted(names)}
        if (key := tuple(wanted.items())) not in seen:
            seen.add(key)
            yield wanted


def empty(answers: Sequence[Answer]) -> list[Query]:
    """The queries that returned data for no choice of their variables."""
    filled = {(answer.query.dashboard, answer.query.number, answer.query.ref) for answer in answers if answer.series}
    all_of = {(query.dashboard, query.number, query.ref): query for query in (answer.query for answer in answers)}
    return [query for key, query in all_of.items() if key not in filled]


def legend(query: Query, series: Series) -> str:
    """The name that Grafana gives a series."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: series.labels.get(found[1], ""), query.legend)
