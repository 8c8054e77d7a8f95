"""One cluster and one musterd for a gang of each framework, all at once, and musterd is killed in the middle.

Played once, before the first question. A gang whose framework is not installed is left out.
"""

import re
import shutil
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.smoke.gangs import BY_NAME, GANGS, LATE
from tests.smoke.story import Played, play

pytestmark = [
    pytest.mark.smoke,
    pytest.mark.timeout(3_600),
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.xdist_group("smoke"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def played(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Played]:
    """All that was seen."""
    folder = tmp_path_factory.mktemp("smoke")
    yield await play(folder)
    shutil.rmtree(folder)


def skip_without(name: str) -> None:
    """Skip the question where the framework of that gang is not installed."""
    if reason := BY_NAME[name].skipped:
        pytest.skip(reason)


@pytest.mark.parametrize("name", [gang.name for gang in GANGS if gang.name != "late"])
async def test_a_gang_ends_well_though_musterd_was_killed(played: Played, name: str) -> None:
    skip_without(name)
    held, ended = played.held[name], played.ended[name]
    assert held.phase == "Running", held.message
    assert ended.phase == "Succeeded", ended.message
    printed = played.printed[name]
    assert all(line in printed for line in BY_NAME[name].prints), printed
    if name not in ("killed", "ray"):  # a node of Ray may need another try on a busy machine
        assert (ended.status.epoch, ended.status.restarts, ended.status.disruptions) == (0, 0, 0), ended.message


async def test_a_killed_rank_is_one_restart_from_the_checkpoint(played: Played) -> None:
    skip_without("killed")
    assert played.restarting is not None
    assert played.restarting.phase in ("Restarting", "Assembling"), played.restarting.message
    ended = played.ended["killed"]
    assert (ended.status.epoch, ended.status.restarts, ended.status.disruptions) == (1, 1, 0), ended.message
    cause = ended.status.cause
    assert cause is not None
    assert (cause.rank, cause.exit_code) == (1, 137)
    resumed = [int(line.split()[-1]) for line in played.printed["killed"] if line.startswith("from step ")]
    assert len(resumed) == 3, "the log of the epoch that ended well"
    assert min(resumed) >= 3


@pytest.mark.parametrize("musterd", [0, 1], ids=["first", "after-it"])
async def test_the_rank_that_never_calls_is_named_by_each_musterd(played: Played, musterd: int) -> None:
    skip_without("late")
    named = played.named[musterd]
    condition = named.seen.condition("Stuck")
    assert condition is not None
    assert condition.reason == "RanksMissing"
    assert named.seen.status.roll is not None
    assert (named.seen.status.roll.arrived, list(named.seen.status.roll.missing)) == (2, [LATE])
    place = re.compile(rf"rank {LATE} \(late-worker-0-{LATE}-\w+, running, but it has not called the coordinator\)")
    for text in (named.seen.message, named.get, named.explain):
        assert place.search(text), text
    (series,) = named.metrics
    assert 'cause="NotArrived"' in series


async def test_a_cancelled_gang_ends(played: Played) -> None:
    skip_without("late")
    ended = played.ended["late"]
    assert ended.status.reason == "Cancelled", ended.message


async def test_muster_run_prints_what_rank_0_prints_and_exits_with_the_outcome(played: Played) -> None:
    run = played.run
    assert run is not None
    assert run.returncode == 0, run.stderr
    assert run.stdout == "rank 0 | rank 0 of 2\n"
    assert "Succeeded" in run.stderr.splitlines()[-1]
