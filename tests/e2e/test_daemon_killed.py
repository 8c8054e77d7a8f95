"""musterd is killed in each phase of the scenario `member-fails`, with real processes; it ends as without that."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from muster.client import Snapshot
from tests.e2e.environment import environment, experiment
from tests.scenarios.catalogue import scenarios
from tests.scenarios.scenario import charged_in

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]


POLICY = {"backoffLimit": 1, "backoff": {"initial": "2s"}}

MOMENTS: dict[str, Callable[[Snapshot], bool]] = {
    "pending": lambda seen: seen.phase == "Pending",
    "assembling": lambda seen: seen.phase == "Assembling",
    "running": lambda seen: seen.phase == "Running",
    "restarting": lambda seen: seen.phase == "Restarting",
    "assembling-again": lambda seen: seen.phase == "Assembling" and seen.status.epoch == 1,
    "running-again": lambda seen: seen.phase == "Running" and seen.status.epoch == 1,
}


def holds_or_finished(holds: Callable[[Snapshot], bool], seen: Snapshot) -> bool:
    """Whether the moment has come, or the experiment has ended without it."""
    return holds(seen) or seen.finished


def ended_well(seen: Snapshot) -> None:
    assert charged_in(seen.raw["status"]) == scenarios()["member-fails"].end.charged(2), seen.message
    assert seen.status.cause is not None
    assert seen.status.cause.exit_code == 137


async def test_an_experiment_ends_well_when_the_daemon_is_killed_in_every_phase(tmp_path: Path) -> None:
    async with environment(tmp_path) as here:
        await here.start_daemon()
        await here.client.submit(experiment("outlives", "python3 -u tests/e2e/gang.py", memory=2, restartPolicy=POLICY))
        for holds in MOMENTS.values():
            await here.until("outlives", partial(holds_or_finished, holds))
            await here.kill_daemon()
            await here.start_daemon()
        ended_well(await here.until("outlives", lambda seen: seen.finished))
