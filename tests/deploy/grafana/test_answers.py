"""What counts as data: the live test fails for a query without any."""

from typing import cast

from tests.deploy.grafana.answers import ask, ask_all, empty
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
        return known.get(label, [])  # one cluster, whose scrapes have no label of it


async def test_a_query_whose_values_are_all_nan_is_without_data_also_where_it_has_a_default() -> None:
    for default in ("vector(0)", "on () vector(0)"):
        query = Query("board", "panel", 1, "A", f"sum(a) or {default}", "", over_time=False)
        for last, found in ((NAN, [query]), (0.0, [])):
            server = OneAnswer(Series({}, ((0.0, NAN), (1.0, last))))
            assert empty([await ask(cast("Prometheus", server), query, {}, 0.0, 1.0)]) == found
            assert server.asked == ["sum(a)"]


async def test_a_query_is_put_for_every_choice_of_the_variables_it_reads() -> None:
    """All stands for the values that there are, with dots escaped for Prometheus."""
    server, boards = OneAnswer(), {one.path.stem: one for one in dashboards()}
    board = boards["muster-experiment"]
    found = await ask_all(cast("Prometheus", server), [board], 0.0, 1.0)
    assert len(found) == sum(4 if "experiment" in each.variables else 1 for each in board.queries)
    assert 'experiment of muster_experiment_info{cluster="",namespace="vision"}' in server.asked
    await ask_all(cast("Prometheus", server), [boards["muster-daemon"]], 0.0, 1.0)
    assert [text for text in server.asked if 'instance=~"(127\\\\.0\\\\.0\\\\.1:8080)"' in text]
    assert not [text for text in server.asked if "$" in text]
