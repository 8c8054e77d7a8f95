"""The soak, small: ``python -m tests.simulation.soak`` plays 10,000 experiments."""

from dataclasses import replace

import pytest

from tests.simulation.soak import WARM, WAVE, Footprint, Soak, judge, soak


@pytest.mark.timeout(300)
def test_what_is_gone_leaves_nothing_behind() -> None:
    world = soak((WARM + 4) * WAVE)
    assert world.violations == []
    assert sum(world.ended.values()) == (WARM + 4) * WAVE * 2 // 3
    assert min(world.ended.values()) > 0


def test_a_leak_is_noticed() -> None:
    world = Soak(0)
    small = Footprint(memory=1_000_000, tasks=9, watches=3, series=200, files=6, entries=0)
    for leak in ("memory", "tasks", "watches", "series", "files", "entries"):
        world.violations.clear()
        world.footprints[:] = [small, replace(small, **{leak: getattr(small, leak) * 2 + 1})]
        judge(world)
        assert [leak in violation for violation in world.violations] == [True], leak
