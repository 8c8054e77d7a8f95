"""A rank that computes, reads or writes while the others wait for it is no hang, before that lasts for too long."""

from math import inf

import pytest

from muster.api.places import INPUT
from muster.state.facts.hang import HUNG
from muster.state.view.places import PlaceReport
from muster.state.view.progress import StepReport
from muster.state.view.recorder.arrivals import CollectiveReport, GroupCount
from muster.state.view.recorder.collectives import STILL_SECONDS
from muster.state.view.stage import OWN_SECONDS, WORKS, Doing
from muster.state.vocabulary.record import ConditionType
from tests.builders import plan, sure
from tests.state.facts.hanging import FREE, AskedStory
from tests.state.story import Story

LOOK = 5.0
COMPUTES = Doing("in evaluate (train.py:40)", 1.0, "computing")
WAITS = Doing("in all_reduce (train.py:88)", inf)


class Gang(AskedStory):
    """Four ranks; a look each 5 s, and a decision where the view asks for one or the last has asked for it."""

    def __init__(self) -> None:
        super().__init__(plan())
        self.doing = dict.fromkeys(range(4), WAITS)
        self.alone: set[int] = set()
        self.operation = dict.fromkeys(range(4), "all_reduce")
        self.entered = dict.fromkeys(range(4), 101)
        self.longest = self.pause = 0.0
        self.moves = 1
        self.assemble()

    def places(self, stands: float) -> tuple[PlaceReport, ...]:
        return tuple(
            PlaceReport(
                rank, self.now, self.now - stands, self.longest, 3, doing.place.split()[1], "train.py",
                88 if doing is WAITS else 40, "s", doing.quiet, doing.how, rank in self.alone, self.pause,
            )
            for rank, doing in self.doing.items()
        )  # fmt: skip

    def collectives(self, still: float) -> tuple[CollectiveReport, ...]:
        top = max(self.entered.values())
        return tuple(
            CollectiveReport(
                rank, rank, 1, int(self.now), self.moves, self.longest, still,
                (GroupCount("0", "default_pg", "gloo", 4, "0-3", entered, self.operation[rank], entered == top > 0),),
                doing=self.doing[rank]._replace(alone=rank in self.alone), pause=self.pause,
            )
            for rank, entered in self.entered.items()
        )  # fmt: skip

    def waits(self, seconds: float, *, torch: bool, step: int | None = None, since: float = 0.0) -> None:
        """So much time passes in which no rank goes on to another step; it had already been ``since`` seconds."""
        steps = None if step is None else tuple(StepReport(rank, step, step + 2, 1.0, 1.0) for rank in range(4))
        for passed in range(0, int(seconds), int(LOOK)):
            self.now += LOOK
            still = since + passed + LOOK
            words = {"collectives": self.collectives(still)} if torch else {"places": self.places(still)}
            if not self.hear(reports=steps, **words) and self.due <= self.now:
                self.look()

    @property
    def due(self) -> float:
        return self.last.wake_at if self.last and self.last.wake_at else inf


@pytest.mark.parametrize("torch", [True, False], ids=["torch", "jax"])
def test_a_rank_that_computes_is_named_as_that_and_stuck_after_a_clock_of_its_own(torch: bool) -> None:
    gang = Gang()
    gang.doing[0] = COMPUTES
    gang.entered[0] = 100
    gang.waits(OWN_SECONDS - 4 * LOOK, torch=torch)
    assert gang.stuck == FREE
    assert "; rank 0 is computing in evaluate (train.py:40); 3 ranks wait for it" in gang.kept.message
    writes = gang.writes
    gang.doing[0] = COMPUTES._replace(place="in batch (train.py:41)")
    gang.waits(LOOK, torch=torch, since=OWN_SECONDS - 4 * LOOK)
    assert gang.writes == writes, "a place that changes is not written"
    gang.waits(4 * LOOK, torch=torch, since=OWN_SECONDS)
    assert gang.stuck[0]
    assert "rank 0" in gang.kept.message


@pytest.mark.parametrize("torch", [True, False], ids=["torch", "jax"])
def test_a_rank_that_is_at_work_no_more_is_stuck(torch: bool) -> None:
    gang = Gang()
    gang.doing[0] = COMPUTES
    gang.entered[0] = 100
    gang.waits(120, torch=torch)
    assert gang.stuck == FREE
    gang.doing[0] = COMPUTES._replace(quiet=WORKS)
    gang.waits(LOOK, torch=torch, since=120)
    assert gang.stuck[0]


@pytest.mark.parametrize("torch", [True, False], ids=["torch", "jax"])
def test_one_that_waits_for_a_person_to_type_waits_for_any_time(torch: bool) -> None:
    gang = Gang()
    gang.doing[0] = Doing("in input (cell.py:3)", 1.0, INPUT)
    gang.entered[0] = 100
    gang.waits(3 * OWN_SECONDS, torch=torch)
    assert gang.stuck == FREE
    assert "rank 0 waits for input in input (" in gang.kept.message


def test_a_gang_in_which_no_rank_waits_for_others_is_idle() -> None:
    gang = Gang()
    gang.doing[0] = Doing("in sleep (train.py:40)")
    gang.alone = {0, 1, 2, 3}
    gang.waits(2 * OWN_SECONDS, torch=False)
    assert gang.stuck == FREE
    gang.alone = {0}
    gang.waits(LOOK, torch=False, since=2 * OWN_SECONDS)
    assert gang.stuck == (True, HUNG)


@pytest.mark.parametrize("torch", [True, False], ids=["torch", "jax"])
def test_an_announced_pause_without_any_report_is_waited_for(torch: bool) -> None:
    gang = Gang()
    gang.doing[0] = Doing("in save (train.py:40)")
    gang.entered[0] = 100
    gang.pause = 300.0
    gang.waits(300 - LOOK, torch=torch)
    assert gang.stuck == FREE
    gang.waits(4 * LOOK, torch=torch, since=300)
    assert gang.stuck[0]


@pytest.mark.parametrize("torch", [True, False], ids=["torch", "jax"])
@pytest.mark.parametrize("all_compute", [True, False])
def test_a_silence_of_steps_is_no_hang_while_ranks_are_at_work(torch: bool, all_compute: bool) -> None:
    gang = Gang()
    gang.doing = dict.fromkeys(range(4), COMPUTES) if all_compute else gang.doing | {0: COMPUTES}
    gang.operation = dict.fromkeys(range(4), "")
    gang.entered = dict.fromkeys(range(4), 0) | ({} if all_compute else dict.fromkeys((1, 2, 3), 1))
    gang.waits(300, torch=torch, step=60)
    assert gang.stuck == FREE
    gang.doing = dict.fromkeys(range(4), WAITS)
    gang.waits(4 * LOOK, torch=torch, step=60, since=300)
    assert gang.stuck == (True, HUNG) if not torch or all_compute else gang.stuck[0]


@pytest.mark.parametrize("torch", [True, False], ids=["torch", "jax"])
def test_a_silence_of_steps_of_a_gang_that_idles_is_no_hang(torch: bool) -> None:
    gang = Gang()
    gang.alone = {0, 1, 2, 3}
    gang.operation = dict.fromkeys(range(4), "")
    gang.entered = dict.fromkeys(range(4), 0)
    gang.waits(2 * OWN_SECONDS, torch=torch, step=60)
    assert gang.stuck == FREE
    gang.alone = {0, 1, 2}
    gang.waits(4 * LOOK, torch=torch, step=60, since=2 * OWN_SECONDS)
    assert gang.stuck == (True, HUNG)


def test_a_silence_of_sent_steps_is_no_hang_while_what_is_sent_shows_work() -> None:
    story = Story(plan()).assemble()
    last = [StepReport(rank, 7, 9, 1.0, 5.0) for rank in range(4)]
    stuck = []
    for passed in range(0, 180, 15):
        for each in last:
            works = 45.0 if each.rank == 2 and passed < 120 else 0.0
            story.view.sent.add(each._replace(works=works), 0, story.now)
        story.view.hear(story.kept, story.now, 0.0)
        story.look()
        stuck.append(story.condition(ConditionType.STUCK)[0])
        story.now += 15.0
    assert stuck == [False] * 8 + [True] * 4


def test_two_operations_at_one_number_are_named_with_their_ranks_whatever_works() -> None:
    gang = Gang()
    gang.doing[1] = COMPUTES
    gang.operation[1] = "all_gather"
    gang.longest = 600.0
    gang.waits(STILL_SECONDS + 4 * LOOK, torch=True)
    assert gang.stuck == (True, "CollectiveStuck")
    words = "Z: rank 1 called all_gather #101 (default_pg), ranks 0, 2-3 called all_reduce #101; 4/4 ranks"
    assert words in gang.kept.message
    assert sure(gang.kept.known).ranks == "1"
