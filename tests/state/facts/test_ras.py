"""A gang that NCCL's RAS shows in a collective without one of its ranks is Stuck, as one with the recorder is.

tests/state/view/recorder/test_ras.py asks which rank is late, and when.
"""

import json
from dataclasses import replace
from typing import Any

import pytest

from muster.state.facts.causes.table import Causes
from muster.state.view.recorder.collectives import STILL_SECONDS
from muster.state.view.recorder.ras import RasAnswer
from muster.state.view.turns import finished
from muster.state.vocabulary.record import Phase
from muster.watchers.probes.nccl import decoded_in_turns
from tests.builders import plan, sure
from tests.fakes.ras import communicator, gang, rank_of, status
from tests.state.facts.hanging import FREE, AskedStory

LOOK = 6.0


class Answering(AskedStory):
    """A gang of four whose RAS is asked every 6 s."""

    def __init__(self) -> None:
        super().__init__(plan())
        self.assemble()
        self.ips = [self.view.of(self.kept.epoch).members[rank].ip for rank in range(4)]

    def ask(self, words: dict[str, Any] | RasAnswer) -> None:
        self.now += LOOK
        self.hear(ras=words if isinstance(words, RasAnswer) else finished(decoded_in_turns(json.dumps(words).encode())))

    def rest(self, words: dict[str, Any], seconds: float = STILL_SECONDS + 2 * LOOK) -> None:
        for _ in range(int(seconds / LOOK)):
            self.ask(words)

    def counted(self, *counts: int) -> dict[str, Any]:
        return gang(counts, self.ips)

    def step(self) -> None:
        for number in range(5):
            self.ask(self.counted(*[96 + number] * 4))
        assert self.stuck == FREE

    def change_leader(self) -> None:
        """Another daemon has heard the coordinator, and no RAS."""
        heard = sure(self.view.probe)
        self.view.take_over()
        self.look()
        self.view.observe_probe(replace(heard.answer, at=self.now), self.kept.epoch)
        assert self.stuck == (True, "CollectiveStuck")


def hanging() -> Answering:
    story = Answering()
    story.step()
    late = story.counted(101, 101, 100, 101)
    story.rest(late, STILL_SECONDS - LOOK)
    assert story.stuck == FREE
    story.rest(late, 4 * LOOK)
    return story


def test_the_rank_that_has_not_entered_is_named_with_communicator_operation_and_counts() -> None:
    story = hanging()
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


@pytest.mark.parametrize("later", [False, True], ids=["the same daemon", "one that has taken over"])
def test_it_is_taken_back_where_nothing_answers_any_more(later: bool) -> None:
    story = hanging()
    if later:
        story.change_leader()
    story.ask(RasAnswer())
    assert story.stuck == FREE


def test_a_daemon_that_takes_over_does_not_take_it_back_before_it_has_looked_for_long_enough() -> None:
    story = hanging()
    writes = story.writes
    story.change_leader()
    for _ in range(20):
        story.ask(story.counted(101, 101, 100, 101))
        story.look()
        assert story.stuck == (True, "CollectiveStuck")
    assert "rank 2 has entered only 100" in story.sentence
    assert story.writes <= writes + 1
    story.ask(story.counted(102, 102, 102, 102))
    assert story.stuck == FREE


@pytest.mark.parametrize("count", [101, 102])
def test_a_daemon_that_takes_over_takes_it_back_where_none_is_late(count: int) -> None:
    story = hanging()
    story.change_leader()
    story.rest(story.counted(*[count] * 4), 6 * LOOK)
    assert story.stuck == FREE


def test_of_pods_with_several_gpus_the_gpu_is_named() -> None:
    story = Answering()

    def answered(count: int, *late: int) -> dict[str, Any]:
        ranks = [
            rank_of(rank, story.ips[rank // 2], {"AllReduce": count - (rank in late)}, device=rank % 2)
            for rank in range(8)
        ]
        return status(communicator(ranks))

    for number in range(5):
        story.ask(answered(96 + number))
    story.rest(answered(101, 5), STILL_SECONDS + 3 * LOOK)
    assert "; GPU 1 of rank 2 has entered only 100" in story.sentence
    assert story.findings()[0].what.startswith("its GPU 1 entered only 100")
    story.ask(answered(102))
    story.rest(answered(103, 4, 5), 600)
    assert "; GPUs 0-1 of rank 2 have entered only 102" in story.sentence
    story.ask(answered(104))
    story.rest(answered(105, 3, 5), 3600)
    assert "; 2 GPUs of ranks 1-2 have entered only 104" in story.sentence


def test_ranks_in_different_collectives_are_named_with_what_each_waits_in() -> None:
    story = Answering()
    story.step()
    counts = [{"AllReduce": 101 - (rank == 2), "AllGather": 30 + (rank == 2)} for rank in range(4)]
    ranks = [rank_of(rank, story.ips[rank], counts[rank]) for rank in range(4)]
    story.rest(status(communicator(ranks)), STILL_SECONDS + 3 * LOOK)
    assert "; rank 2 has entered only 100 and waits in AllGather #31 (communicator 0xae9" in story.sentence
