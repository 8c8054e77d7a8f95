"""Reports of real PyTorch processes through their TCPStore, read by the probe: the rank that hangs is behind."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from muster.state.view.progress import BEHIND_SECONDS, Progress, StepReport, sentence, steps_progress
from muster.watchers.probes.torch import TorchProbe
from tests.frameworks.interpreters import python_of, reason_without
from tests.torch.gang import HANGS_AT, SIZE, WAYS, gang

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(180),
    pytest.mark.xdist_group("frameworks"),
    pytest.mark.skipif(python_of("torch") is None, reason=reason_without("torch")),
]
SLOW = 2


async def follow(probe: TorchProbe, until: Callable[[Progress], bool], before: Progress | None = None) -> Progress:
    """Look once a second until that holds."""
    seen = before
    while seen is None or not until(seen):
        answer = await probe.snapshot()
        if answer.reports is not None:
            seen = steps_progress(answer.reports, 0, answer.at, seen)
        await asyncio.sleep(1.0)
    return seen


def later(seen: Progress, now: float) -> Progress:
    """The progress if the same were read later."""
    still: list[StepReport] = [rank.report for rank in seen.ranks.values()]
    after = steps_progress(still, 0, now, seen)
    assert after is not None
    return after


@pytest.mark.parametrize("way", WAYS)
async def test_a_rank_that_comes_to_its_next_step_no_more_is_behind_in_a_hang(tmp_path: Path, way: str) -> None:
    with gang(tmp_path, SLOW, way) as (address, processes):
        probe = TorchProbe(address, clock=time.time, expected=SIZE)
        seen = await follow(probe, lambda seen: seen.step == HANGS_AT and seen.read_at > seen.moved_at + 4)
        assert [process.poll() for process in processes] == [None] * SIZE
        await probe.close()
        hung_at = seen.moved_at + max(BEHIND_SECONDS, 5 * seen.longest)
        assert not later(seen, hung_at - 1).hung
        hung = later(seen, hung_at)
        assert (hung.hung, hung.slowest) == (True, SLOW)
        assert hung.slowest_step < HANGS_AT
        assert f"slowest rank {SLOW} at " in sentence(hung, hung_at)


async def test_steps_of_a_healthy_gang_are_read(tmp_path: Path) -> None:
    with gang(tmp_path, -1, "") as (address, processes):
        probe = TorchProbe(address, clock=time.time, expected=SIZE)
        seen = await follow(probe, lambda seen: seen.rate is not None and seen.step > 2 * HANGS_AT)
        await probe.close()
        assert [process.poll() for process in processes] == [None] * SIZE
        assert (seen.reporting, seen.straggling, dict(seen.scalars)) == (SIZE, 0, {"loss": 4.0})
        assert seen.rate is not None
        assert 1 < seen.rate < 20
