"""A share of the healthy hours of ``make simulate``; and that the world of them can be called Stuck."""

from dataclasses import replace
from typing import TypeVar

import pytest

from tests.diagnosis.job_hours import HOUR, OPERATORS, JobHours, play
from tests.scenarios.incidents import NeverArrives, Pauses
from tests.simulation.world.process import Process

pytestmark = pytest.mark.slow

T = TypeVar("T")


def test_no_healthy_hour_is_called_stuck() -> None:
    worlds = list(play(40.0, seed=7))
    assert [world.plan.operator for world in worlds] == list(OPERATORS)
    assert sum(world.hours for world in worlds) == 40
    assert [said for world in worlds for said in world.stuck] == []
    assert [said for world in worlds for said in world.violations] == []
    assert {phase for world in worlds for phase in world.phases} == {"Succeeded"}


class WithAnAbsentRank(JobHours):
    """A rank of every gang never calls its coordinator."""

    def incidents_of(self, process: Process, *kinds: type[T]) -> list[T]:
        absent = NeverArrives(rank=process.rank)
        return [absent] if process.rank == 1 and isinstance(absent, kinds) else []


def test_unannounced_pauses_of_ten_minutes_are_reported_and_the_announced_ones_are_why_none_is() -> None:
    class Unannounced(JobHours):
        def incidents_of(self, process: Process, *kinds: type[T]) -> list[T]:
            found = super().incidents_of(process, *kinds)
            return [replace(each, announced=False) if isinstance(each, Pauses) else each for each in found]

    world = Unannounced("jax", 8.0, seed=7)
    world.play()
    assert "Hung" in {said.reason for said in world.stuck}


def test_a_rank_that_never_arrives_is_reported_in_such_a_world() -> None:
    world = WithAnAbsentRank("pytorch", 4.0, seed=7)
    world.play()
    assert {said.reason for said in world.stuck} == {"RanksMissing"}
    assert world.loop.time() > HOUR
