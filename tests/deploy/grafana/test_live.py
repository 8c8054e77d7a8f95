"""Every query of every dashboard returns data from a Prometheus that scrapes musterd with real experiments."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from muster import __version__
from tests.deploy.grafana.answers import Answer, ask_all, empty, legend
from tests.deploy.grafana.dashboards import Dashboard, dashboards
from tests.deploy.grafana.situations import SITUATIONS, Situation
from tests.deploy.grafana.world import world
from tests.deploy.prometheus.binaries import needed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.cluster,
    pytest.mark.timeout(420),
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.xdist_group("dashboards"),  # all ask one world
]

ALL = dashboards()
SETTLING = 120.0
"""Seconds in which what happened last must have been scraped twice, and rights be denied three times."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def answers(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[list[Answer]]:
    """The answers to all queries, once none is empty or after the time to settle."""
    pytest.importorskip("jax")
    needed("prometheus")
    async with world(tmp_path_factory.mktemp("world")) as here:
        last = time.monotonic() + SETTLING
        while True:
            found = await ask_all(here.server, ALL, here.began, time.time())
            if time.monotonic() > last or not (empty(found) or wrong(found) or unmarked(found)):
                break
            await asyncio.sleep(1)
        yield found


def wrong(answers: list[Answer]) -> list[str]:
    """What the dashboard of one experiment does not show although its situation has come."""
    return [line for situation in SITUATIONS for line in _wrong(situation, answers)]


def _wrong(situation: Situation, answers: list[Answer]) -> list[str]:
    shown = {
        (answer.query.number, legend(answer.query, series)): series.last
        for answer in answers
        if answer.query.dashboard == "muster-experiment" and answer.choice.get("experiment") == situation.name
        for series in answer.series
    }
    return [
        f"{situation.name}: panel {panel} shows {shown.get((panel, name))} as {name or 'its value'}, not {value}"
        for (panel, name), value in situation.values.items()
        if shown.get((panel, name)) != value
    ]


@pytest.mark.parametrize("dashboard", ALL, ids=lambda dashboard: dashboard.path.stem)
async def test_every_query_returns_data(answers: list[Answer], dashboard: Dashboard) -> None:
    uid = dashboard.content["uid"]
    without = [str(query) for query in empty(answers) if query.dashboard == uid]
    assert not without, "\n".join(without)


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.name)
async def test_the_dashboard_of_an_experiment_shows_its_situation(answers: list[Answer], situation: Situation) -> None:
    assert not _wrong(situation, answers)


MARKS = {"restarted": ["Restart: Error"], "disrupted": ["Restart: PodDeleted"], "healthy": []}
"""What the dashboard of one experiment marks, by its name."""


async def test_each_restart_each_leader_and_each_version_is_marked_once(answers: list[Answer]) -> None:
    assert unmarked(answers) == []
    leads, runs = sorted(_marked(answers, "muster-daemon"))
    assert leads.endswith(" leads")
    assert runs == f"musterd {__version__} runs"


def unmarked(answers: list[Answer]) -> list[str]:
    """The experiments whose dashboard does not mark what it should, or marks more."""
    return [name for name, titles in MARKS.items() if _marked(answers, "muster-experiment", name) != titles]


def _marked(answers: list[Answer], dashboard: str, experiment: str | None = None) -> list[str]:
    """The titles of the moments that a dashboard marks."""
    return [
        legend(answer.query, series)
        for answer in answers
        if answer.query.ref == "Anno" and answer.query.dashboard == dashboard
        if answer.choice.get("experiment") == experiment
        for series in answer.series
        for _ in series.points
    ]
