"""Programs that end within a second or two: musterd may never have asked their coordinator, and says nothing false."""

import sys
from pathlib import Path

import pytest

from muster.api.gang import RollCall
from muster.client import Snapshot
from tests.e2e.environment import Environment, environment, experiment

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

SIZE = 2
JOINS = """
from muster.jax import initialize
initialize()
print("joined", flush=True)
"""


async def ended(here: Environment, name: str, operator: str, command: str) -> Snapshot:
    await here.client.submit(experiment(name, command, operator=operator, restartPolicy={"backoffLimit": 0}))
    return await here.until(name, lambda seen: seen.finished, 120)


async def test_a_gang_that_ends_at_once_succeeds_without_a_missing_rank_and_with_its_time_counted(
    tmp_path: Path,
) -> None:
    pytest.importorskip("jax")
    (tmp_path / "joins.py").write_text(JOINS)
    programs = {
        "joins": ("jax", f"JAX_PLATFORMS=cpu {sys.executable} {tmp_path / 'joins.py'}"),
        "at-once": ("jax", "true"),
        "second": ("jax", "sleep 1"),
        "unprobed": ("xgboost", "true"),
    }
    async with environment(tmp_path / "home") as here:
        await here.start_daemon()
        for name, (operator, command) in programs.items():
            seen = await ended(here, name, operator, command)
            assert seen.status.goodput is not None
            sums = seen.status.goodput
            status, assembled = seen.status, seen.condition("Assembled")
            times = f"wall {sums.wall} ms, productive {sums.net} ms"
            sys.stdout.write(f"{name}: {seen.phase}: {status.message}; {status.roll}; {assembled}; {times}\n")
            assert (seen.phase, status.restarts, status.readiness) == ("Succeeded", 0, "2/2"), status.message
            assert status.roll in (None, RollCall(SIZE, SIZE)), "no rank is said to have been missing"
            assert assembled is not None
            assert assembled.reason in ("RollNotSeen", "RollComplete"), assembled
            assert not seen.holds("Stuck")
            assert "missing" not in "; ".join(line.message for line in status.story)
            assert 0 <= sums.net <= sums.wall
            assert sums.net or command == "true", "a second of work is no second of waiting"
