"""What counts as data: the live test fails for a query without any."""

from typing import cast

import pytest

from tests.deploy.grafana.answers import Answer, ask, ask_all, choices, empty, interpolated, without_defaults
from tests.deploy.grafana.dashboards import Query, dashboards
from tests.deploy.grafana.server import Prometheus, Series

NAN = float("nan")


class OneAnswer:
    """Answers every query with the same series, and keeps what it was asked."""

    def __init__(self, *series: Series) -> None:
        self.series = list(series)
        self.asked: list[str] = []

    async def query(self, expr: str, at: float) -> list[Series]:
        self.asked.append(expr)
        return self.series

    async def query_range(self, expr: str, start: float, end: float, step: float) -> list[Series]:
        return await self.query(expr, end)

    async def label_values(self, selector: str, label: str) -> list[str]:
        self.asked.append(f"{label} of {selector}")
        known = {"namespace": ["speech", "vision"], "experiment": ["a.b", "c"], "instance": ["127.0.0.1:8080"]}
        return known.get(label, [])  # one cluster, whose scrapes say nothing of it


def query(expr: str, number: int = 1) -> Query:
    return Query("board", "panel", number, "A", expr, "", over_time=False)


async def answer(expr: str, *points: tuple[float, float]) -> Answer:
    server = OneAnswer(Series({}, points))
    return await ask(cast("Prometheus", server), query(expr), {}, 0.0, 1.0)


async def test_a_query_whose_values_are_all_nan_is_without_data() -> None:
    assert empty([await answer("a", (0.0, NAN), (1.0, NAN))]) == [query("a")]
    assert not empty([await answer("a", (0.0, NAN), (1.0, 0.0))])


@pytest.mark.parametrize("text", ["sum(a) or vector(0)", "sum(a) or on () vector(0)"])
def test_a_default_is_taken_away_before_the_query_is_put(text: str) -> None:
    assert without_defaults(text) == "sum(a)"


async def test_a_query_is_put_for_every_choice_of_the_variables_it_reads() -> None:
    server = OneAnswer()
    board = next(one for one in dashboards() if one.path.stem == "muster-experiment")
    found = await ask_all(cast("Prometheus", server), [board], 0.0, 1.0)
    assert len(found) == sum(4 if "experiment" in each.variables else 1 for each in board.queries)
    assert 'experiment of muster_experiment_info{cluster="",namespace="vision"}' in server.asked
    assert not [text for text in server.asked if "$" in text]


async def test_all_stands_for_the_values_that_there_are_with_dots_escaped_for_prometheus() -> None:
    board = next(one for one in dashboards() if one.path.stem == "muster-daemon")
    (choice,) = await choices(cast("Prometheus", OneAnswer()), board)
    assert interpolated('up{instance=~"$instance"}', choice) == 'up{instance=~"(127\\\\.0\\\\.0\\\\.1:8080)"}'
