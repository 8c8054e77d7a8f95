"""A gang that NCCL's RAS shows in a collective without one of its ranks is Stuck, as one with the recorder is."""

import json
from dataclasses import replace
from typing import Any

import pytest

from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.classifier import Finding
from muster.state.facts.diagnosis.diagnose import diagnose
from muster.state.view.recorder.collectives import STILL_SECONDS
from muster.state.view.recorder.ras import RasAnswer
from muster.state.vocabulary.record import ConditionType, Phase
from muster.watchers.probes.nccl import decoded
from tests.builders import plan
from tests.fakes.ras import communicator, gang, rank_of, status
from tests.state.story import Story

STUCK = ConditionType.STUCK
LOOK = 6.0


class Answering(Story):
    """A gang of four whose RAS is asked every 6 s; a decision where the view asks for one."""

    def __init__(self) -> None:
        super().__init__(plan())
        self.assemble()
        self.ips = [self.view.of(self.kept.epoch).members[rank].ip for rank in range(4)]

    def ask(self, said: dict[str, Any] | RasAnswer) -> None:
        self.now += LOOK
        answer = said if isinstance(said, RasAnswer) else decoded(json.dumps(said).encode())
        roll = self.view.probe
        assert roll is not None
        if self.view.observe_probe(replace(roll.answer, at=self.now, ras=answer), self.kept.epoch):
            self.look()

    def rest(self, said: dict[str, Any], seconds: float = STILL_SECONDS + 2 * LOOK) -> None:
        for _ in range(int(seconds / LOOK)):
            self.ask(said)

    def counted(self, *counts: int) -> dict[str, Any]:
        return gang(counts, self.ips)

    def step(self) -> None:
        for number in range(5):
            self.ask(self.counted(*[96 + number] * 4))
        assert self.stuck == (False, "NotStuck")

    @property
    def stuck(self) -> tuple[bool | None, str]:
        return self.condition(STUCK)

    @property
    def sentence(self) -> str:
        stuck = self.kept.condition(STUCK)
        assert stuck is not None
        return stuck.message

    def findings(self) -> tuple[Finding, ...]:
        return diagnose(Context.at(self.plan, self.kept, self.view, self.now))


def hanging(*counts: int) -> Answering:
    story = Answering()
    story.step()
    story.rest(story.counted(*counts), STILL_SECONDS - LOOK)
    assert story.stuck == (False, "NotStuck")
    story.rest(story.counted(*counts), 4 * LOOK)
    return story


def test_the_rank_that_has_not_entered_is_named_with_communicator_operation_and_counts() -> None:
    story = hanging(101, 101, 100, 101)
    assert story.stuck == (True, "CollectiveStuck")
    assert story.sentence.startswith("NCCL has counted no collective since ")
    assert story.sentence.endswith(
        "Z: 3 of 4 GPUs have entered AllReduce #101 (communicator 0xae94423cfbb2ef00); rank 2 has entered only 100"
    )
    (found,) = story.findings()
    assert (found.cause, found.ranks) == (Causes.COLLECTIVE_BEHIND, (2,))
    assert found.what == "entered only 100, not AllReduce #101 (communicator 0xae94423cfbb2ef00)"
    assert "3 of 4 GPUs have entered AllReduce #101" in found.evidence
    assert (story.kept.phase, story.kept.reason) == (Phase.RUNNING, "CollectiveStuck")
    assert story.kept.known is not None
    assert (story.kept.known.cause, story.kept.known.ranks) == ("CollectiveBehind", "2")


def test_where_one_does_not_answer_nothing_is_said() -> None:
    assert hanging(101, 101, -1, 101).stuck == (False, "NotStuck")


def test_where_half_of_all_or_more_seem_late_nothing_is_said() -> None:
    assert hanging(101, 100, 100, 101).stuck == (False, "NotStuck")
    assert hanging(100, 100, 100, 101).stuck == (False, "NotStuck")


@pytest.mark.parametrize("counts", [(101, 101, 101, 101), (100, 100, 100, 100)])
def test_equal_counts_say_nothing(counts: tuple[int, ...]) -> None:
    assert hanging(*counts).stuck == (False, "NotStuck")


def test_it_is_written_once_and_ends_with_the_next_move() -> None:
    story = hanging(101, 101, 100, 101)
    writes = story.writes
    story.rest(story.counted(101, 101, 100, 101), 600)
    assert story.writes == writes
    story.ask(story.counted(101, 101, 101, 101))
    assert story.stuck == (False, "NotStuck")
    assert story.findings() == ()


def test_it_is_taken_back_where_nothing_answers_any_more() -> None:
    story = hanging(101, 101, 100, 101)
    story.ask(RasAnswer())
    assert story.stuck == (False, "NotStuck")


def test_a_daemon_that_takes_over_does_not_take_it_back_before_it_has_looked_for_long_enough() -> None:
    story = hanging(101, 101, 100, 101)
    roll, writes = story.view.probe, story.writes
    assert roll is not None
    story.view.take_over()
    story.look()
    assert story.stuck == (True, "CollectiveStuck")
    story.view.observe_probe(replace(roll.answer, at=story.now), story.kept.epoch)
    for _ in range(20):
        story.ask(story.counted(101, 101, 100, 101))
        story.look()
        assert story.stuck == (True, "CollectiveStuck")
    assert "rank 2 has entered only 100" in story.sentence
    assert story.writes <= writes + 1
    story.ask(story.counted(102, 102, 102, 102))
    assert story.stuck == (False, "NotStuck")


def taken_over() -> Answering:
    """A daemon that takes over what another one has called stuck."""
    story = hanging(101, 101, 100, 101)
    roll = story.view.probe
    assert roll is not None
    story.view.take_over()
    story.look()
    story.view.observe_probe(replace(roll.answer, at=story.now), story.kept.epoch)
    assert story.stuck == (True, "CollectiveStuck")
    return story


@pytest.mark.parametrize("counts", [(101, 101, 101, 101), (102, 102, 102, 102)])
def test_a_daemon_that_takes_over_takes_it_back_where_none_is_late(counts: tuple[int, ...]) -> None:
    story = taken_over()
    story.rest(story.counted(*counts), 6 * LOOK)
    assert story.stuck == (False, "NotStuck")


def test_a_daemon_that_takes_over_takes_it_back_where_nothing_answers() -> None:
    story = taken_over()
    story.ask(RasAnswer())
    assert story.stuck == (False, "NotStuck")


def test_of_pods_with_several_gpus_the_gpu_is_named() -> None:
    story = Answering()

    def said(count: int, *late: int) -> dict[str, Any]:
        ranks = [
            rank_of(rank, story.ips[rank // 2], {"AllReduce": count - (rank in late)}, device=rank % 2)
            for rank in range(8)
        ]
        return status(communicator(ranks))

    for number in range(5):
        story.ask(said(96 + number))
    story.rest(said(101, 5), STILL_SECONDS + 3 * LOOK)
    assert "; GPU 1 of rank 2 has entered only 100" in story.sentence
    assert story.findings()[0].what.startswith("its GPU 1 entered only 100")
    story.ask(said(102))
    story.rest(said(103, 4, 5), 600)
    assert "; GPUs 0-1 of rank 2 have entered only 102" in story.sentence
    story.ask(said(104))
    story.rest(said(105, 3, 5), 3600)
    assert "; 2 GPUs of ranks 1-2 have entered only 104" in story.sentence


def test_ranks_in_different_collectives_are_named_with_what_each_waits_in() -> None:
    story = Answering()
    story.step()
    counts = [{"AllReduce": 101 - (rank == 2), "AllGather": 30 + (rank == 2)} for rank in range(4)]
    ranks = [rank_of(rank, story.ips[rank], counts[rank]) for rank in range(4)]
    story.rest(status(communicator(ranks)), STILL_SECONDS + 3 * LOOK)
    assert (
        "3 of 4 GPUs have entered AllReduce #101 (communicator 0xae94423cfbb2ef00); rank 2 has entered only 100 and "
        "waits in AllGather #31 (communicator 0xae94423cfbb2ef00); "
    ) in story.sentence
