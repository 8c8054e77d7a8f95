"""The last reports of an epoch are read before it ends, because they are lost with its processes."""

import asyncio

import pytest

from muster.daemon.app import Daemon
from muster.state.view.progress import StepReport
from muster.state.view.roll import CoordinatorState, RankState, RollAnswer
from tests.daemon.virtual_daemon import RUN, Cluster, experiment, virtually


@pytest.mark.parametrize("reports", [True, False])
@virtually
async def test_a_gang_that_reports_is_asked_once_more_when_it_fails_and_no_other_is(
    cluster: Cluster, daemon: Daemon, reports: bool
) -> None:
    asked: list[float] = []

    def roll(now: float) -> RollAnswer:
        asked.append(now)
        states = (RankState.CONNECTED,) * 2
        words = (StepReport(0, len(asked), len(asked), now),) if reports else None
        return RollAnswer(at=now, coordinator=CoordinatorState.SERVING, states=states, reports=words)

    cluster.roll = roll
    cluster.api.put(RUN, experiment(2, operator="jax", restartPolicy={"backoffLimit": 3}))
    await asyncio.sleep(1)
    for rank in (0, 1):
        cluster.start(rank)
        await asyncio.sleep(5)
    assert cluster.status["phase"] == "Running"
    looks = len(asked)
    while len(asked) == looks:  # noqa: ASYNC110 - virtual time
        await asyncio.sleep(0.1)
    await asyncio.sleep(1)  # two seconds before the next look
    began, seen = cluster.wall(), len(asked)
    cluster.end(1, code=1)
    await asyncio.sleep(0.5)
    assert cluster.status["epoch"] == 1
    assert (asked[seen:] == [pytest.approx(began, abs=0.3)]) == reports
