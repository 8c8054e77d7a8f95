"""The core of both tables: real gangs of jax, PyTorch and transformers on one cluster, whose minute passes once.

``python -m tests.hangs --table`` and ``--healthy`` play all of them.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from muster.api.gang import Steps
from tests.e2e.environment import Environment
from tests.hangs.hang_rows import HANGS
from tests.hangs.healthy_rows import HEALTHY
from tests.hangs.judged import Judged, judge
from tests.hangs.rows import Row
from tests.hangs.world import Gang, is_done, is_over, was_said, world

pytest.importorskip("jax")
pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1500), pytest.mark.xdist_group("frameworks")]

HUNG = [row for row in HANGS if row.core]
WELL = [row for row in HEALTHY if row.core]
LONG = 600.0
"""Seconds for what comes true on a machine that does much else, too."""
MINUTE = 25.0
"""A pause of three minutes is longer than what a hang is said after."""


@dataclass(frozen=True, slots=True)
class Played:
    """The core, once it was played: what is to be said of each gang, and what musterd exports."""

    judged: dict[str, Judged]
    metrics: list[str]
    pages: dict[str, Any]
    """What the page knows of each gang."""

    def gang(self, row: Row) -> Gang:
        return self.judged[row.name].gang

    def metric(self, name: str, row: Row) -> float:
        (line,) = (line for line in self.metrics if line.startswith(f"{name}{{") and f'"{row.name}"' in line)
        return float(line.rpartition(" ")[2])


async def play(folder: Path) -> Played:
    """All gangs of the core at once: until each hang is said, and the healthy have made their pauses."""
    async with world(folder, [row for row in (*HUNG, *WELL) if not row.missing], minute=MINUTE) as made:
        await made.start()
        gangs = list(made.gangs.values())
        hung = [gang for gang in gangs if gang.row in HUNG]
        await made.until(was_said, hung, LONG)
        await made.until(is_over, [gang for gang in hung if gang.row.again], LONG)
        await made.until(is_done, [gang for gang in gangs if gang.row in WELL], LONG)
        await made.settle(LONG)
        found = {gang.name: judge(gang) for gang in gangs}
        return Played(found, await made.env.metrics(), await pages(made.env, [row.name for row in WELL]))


async def pages(env: Environment, names: list[str]) -> dict[str, Any]:
    """``/experiments/default/NAME.json`` of each that is there."""
    found = {}
    async with aiohttp.ClientSession(f"http://127.0.0.1:{env.port}") as session:
        for name in names:
            async with session.get(f"/experiments/default/{name}.json") as answer:
                found[name] = await answer.json() if answer.ok else None
    return found


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return asyncio.run(play(tmp_path_factory.mktemp("core")))


def rows(chosen: list[Row]) -> pytest.MarkDecorator:
    skips = [
        pytest.param(row, id=row.name, marks=pytest.mark.skipif(bool(row.missing), reason=row.missing))
        for row in chosen
    ]
    return pytest.mark.parametrize("row", skips)


@rows(HUNG)
def test_the_rank_that_comes_to_a_halt_is_named(row: Row, played: Played) -> None:
    found = played.judged[row.name]
    assert found.right, found.line


@rows(WELL)
def test_a_gang_that_is_healthy_is_not_called_hung(row: Row, played: Played) -> None:
    found = played.judged[row.name]
    assert found.right, found.line


@rows([row for row in WELL if row.way == "steps_on"])
def test_steps_of_a_healthy_gang_are_read(row: Row, played: Played) -> None:
    steps = steps_of(played, row)
    assert steps.reporting == row.size
    assert 0 < float(steps.per_second) < 20
    assert 0 < played.pages[row.name]["progress"]["scalars"]["loss"] < 1


@rows([row for row in WELL if row.way == "apart"])
def test_a_slowed_rank_is_a_straggler(row: Row, played: Played) -> None:
    assert played.metric("muster_experiment_straggler_ranks", row) == 1


@rows([row for row in WELL if row.way == "apart"])
def test_report_returns_at_once_while_process_0_is_stopped(row: Row, played: Played) -> None:
    """A write that waits for process 0 must neither hold the caller nor the interpreter's lock."""
    calls, longest = (played.gang(row).folder / "calls").read_text().split()
    assert int(calls) > 10, "rank 1 did not go on"
    assert float(longest) < 4.0, "a call has waited until process 0 went on"


def steps_of(played: Played, row: Row) -> Steps:
    seen = played.gang(row).seen
    assert seen is not None
    assert seen.status.steps is not None
    return seen.status.steps
