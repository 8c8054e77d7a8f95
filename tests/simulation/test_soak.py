"""The soak with two waves; ``make simulate`` plays 10,000 experiments."""

from dataclasses import replace

import pytest

from tests.simulation.soak import WAVE, Footprint, leaks, soak

pytestmark = pytest.mark.slow

SMALL = Footprint(memory=1_000_000, tasks=9, watches=3, series=200, files=6, entries=0)


def test_what_is_gone_leaves_nothing_behind() -> None:
    world = soak(2 * WAVE)
    assert [each for each in world.violations if not each.startswith("memory")] == []  # the daemon is not warm yet
    assert sum(world.ended.values()) > WAVE
    assert min(world.ended.values()) > 0


@pytest.mark.parametrize("what", ["memory", "tasks", "watches", "series", "files", "entries"])
def test_a_leak_is_a_violation(what: str) -> None:
    (found,) = leaks(SMALL, replace(SMALL, **{what: getattr(SMALL, what) * 2 + 1}))
    assert what in found


def test_five_percent_more_memory_is_no_leak() -> None:
    assert leaks(SMALL, replace(SMALL, memory=1_049_000)) == []
