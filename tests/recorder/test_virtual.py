"""Virtual hours of healthy gangs bring no verdict; ``python -m tests.recorder --virtual 1000`` plays more of them."""

import random
import re

import pytest

from tests.recorder.virtual import VirtualGang
from tests.recorder.virtual_ras import RasGang
from tests.recorder.virtual_steps import SteppingGang

MEMBERS = re.compile(r"Late\(member=(\d+)")


@pytest.mark.parametrize("seed", range(4))
def test_a_healthy_gang_is_never_called_stuck(seed: int) -> None:
    gang = VirtualGang(random.Random(seed))
    gang.play(hours=5)
    assert gang.looks > 5_000
    assert gang.verdicts == []


def test_a_rank_that_computes_for_ever_is_named_by_the_same_looks() -> None:
    gang = VirtualGang(random.Random(1), hangs_at=0.1)
    gang.play(hours=1.1)
    (at, said), *_ = gang.verdicts
    assert at >= 360
    assert "Late(member=1, rank=1" in said
    assert "rank=2" not in said


@pytest.mark.parametrize("seed", range(4))
def test_a_healthy_gang_on_nccl_is_never_called_stuck(seed: int) -> None:
    gang = RasGang(random.Random(seed))
    gang.play(hours=5)
    assert gang.looks > 2_500
    assert gang.verdicts == []


def test_of_hung_gangs_on_nccl_no_other_rank_is_named_and_of_most_the_one_that_starts_no_collective_any_more() -> None:
    named = 0
    for seed in range(24):
        gang = RasGang(random.Random(seed), hangs_at=0.05)
        gang.play(hours=1)
        named += bool(gang.verdicts)
        assert all(at >= 180 and set(MEMBERS.findall(said)) == {"1"} for at, said in gang.verdicts)
    assert named > 12


@pytest.mark.parametrize("seed", range(4))
def test_no_rank_of_a_healthy_gang_is_reported_to_come_last(seed: int) -> None:
    gang = SteppingGang(random.Random(seed))
    gang.play(hours=5)
    assert gang.looks > 5_000
    assert gang.verdicts == []


@pytest.mark.parametrize("seed", range(4))
def test_a_rank_that_is_slower_by_two_seconds_is_reported_by_the_same_looks(seed: int) -> None:
    gang = SteppingGang(random.Random(seed), slower=2.0)
    gang.play(hours=1)
    assert {rank for _, rank in gang.verdicts} == {1}
    assert gang.verdicts[0][0] < 900
