"""A gang that waits in a collective is Stuck with CollectiveStuck, and the rank that is not in it is named."""

from dataclasses import replace

import pytest

from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.classifier import Finding
from muster.state.facts.diagnosis.diagnose import diagnose
from muster.state.view.recorder.arrivals import CollectiveReport, GroupCount
from muster.state.view.recorder.collectives import STILL_SECONDS
from muster.state.view.stage import Doing
from muster.state.view.view import View
from muster.state.vocabulary.record import ConditionType, Phase
from tests.builders import plan
from tests.state.story import Story

STUCK = ConditionType.STUCK
LOOK = 3.0


class Publishing(Story):
    """A gang of four that publishes; a look of the probe and a decision, if the view asks for one, every 3 s."""

    def __init__(self) -> None:
        super().__init__(plan())
        self.entered = dict.fromkeys(range(4), 100)
        self.member = {rank: rank for rank in range(4)}
        self.doing: dict[int, Doing] = {}
        self.inside: set[int] = set()
        self.uncounted = -1
        self.beat = 0
        self.still = 0.0
        self.decisions = 0

    def run(self, seconds: float, *, moving: bool = False, silent: int = -1) -> None:
        for _ in range(int(seconds / LOOK)):
            self.now += LOOK
            self.beat += 1
            self.still = 0.0 if moving else self.still + LOOK
            self.look_at_collectives(silent)

    def look_at_collectives(self, silent: int = -1) -> None:
        top = max(self.entered.values())
        reports = tuple(
            CollectiveReport(
                self.member[rank], rank, 1, 1 if rank == silent else self.beat, sum(self.entered.values()), 1.0,
                self.still,
                None
                if rank == self.uncounted
                else (
                    GroupCount(
                        "0", "default_pg", "gloo", 4, "0-3", count, "all_reduce", count == top or rank in self.inside
                    ),
                ),
                doing=self.doing.get(rank, Doing()),
            )
            for rank, count in self.entered.items()
        )  # fmt: skip
        roll = self.view.probe
        assert roll is not None
        if self.view.observe_probe(replace(roll.answer, at=self.now, collectives=reports), self.kept.epoch):
            self.decisions += 1
            self.look()

    @property
    def stuck(self) -> tuple[bool | None, str]:
        return self.condition(STUCK)

    def findings(self) -> tuple[Finding, ...]:
        return diagnose(Context.at(self.plan, self.kept, self.view, self.now))


def hanging() -> Publishing:
    story = Publishing()
    story.assemble()
    story.run(30)
    assert story.stuck == (False, "NotStuck")
    for rank in (0, 1, 3):
        story.entered[rank] += 1
    story.run(LOOK, moving=True)
    story.run(STILL_SECONDS - LOOK)
    assert story.stuck == (False, "NotStuck")
    story.run(2 * LOOK)
    return story


def test_the_rank_that_has_not_entered_is_named_with_the_collective_and_the_counts() -> None:
    story = hanging()
    assert story.stuck == (True, "CollectiveStuck")
    stuck = story.kept.condition(STUCK)
    assert stuck is not None
    assert stuck.message.startswith("no collective has started or finished since ")
    assert stuck.message.endswith("Z: 3 of 4 ranks wait in all_reduce #101 (default_pg); rank 2 has entered only 100")
    (found,) = story.findings()
    assert (found.cause, found.ranks) == (Causes.COLLECTIVE_BEHIND, (2,))
    assert found.what == "entered only 100, not all_reduce #101 (default_pg)"
    assert "3 of 4 ranks wait in all_reduce #101" in found.evidence
    assert (story.kept.phase, story.kept.reason) == (Phase.RUNNING, "CollectiveStuck")
    assert story.kept.known is not None
    assert (story.kept.known.cause, story.kept.known.ranks) == ("CollectiveBehind", "2")


@pytest.mark.parametrize(
    ("doing", "silent", "said"),
    [
        (Doing("in next (data.py:41)"), -1, "rank 2 has entered only 100 and is in next (data.py:41)"),
        (Doing("at train.py:19"), 2, "rank 2 has stopped reporting after 100 (last seen at train.py:19)"),
    ],
)
def test_the_line_of_the_late_rank_is_named_where_its_process_publishes_it(
    doing: Doing, silent: int, said: str
) -> None:
    story = Publishing()
    story.assemble()
    story.doing[2] = doing
    story.run(30)
    for rank in (0, 1, 3):
        story.entered[rank] += 1
    story.run(LOOK, moving=True, silent=silent)
    story.run(60, silent=silent)
    stuck = story.kept.condition(STUCK)
    assert stuck is not None
    assert stuck.message.endswith(said)
    (found,) = story.findings()
    assert f", {doing.place}; no collective has started or finished since " in found.evidence


def test_the_time_since_which_a_collective_waits_is_not_productive() -> None:
    story = hanging()
    seen = story.view.collectives_of(0)
    assert seen is not None
    began = seen.moved_at
    assert story.now - began > STILL_SECONDS
    story.run(60)
    assert story.kept.goodput is not None
    sums = story.kept.goodput.at(story.now)
    assert sums.stuck == pytest.approx(1000 * (story.now - began), abs=1)
    story.entered[2] += 1
    story.run(30, moving=True)
    after = story.kept.goodput.at(story.now)
    assert after.stuck == pytest.approx(1000 * (story.now - 30 + LOOK - began), abs=1)


def test_a_rank_inside_of_the_collective_before_is_no_culprit_beside_the_rank_that_is_stopped() -> None:
    """The all_reduce in which rank 1 was stopped has ended for ranks 0 and 3, and not for rank 2."""
    story = Publishing()
    story.assemble()
    story.doing = dict.fromkeys((0, 2, 3), Doing("in all_reduce (train.py:88)", meets=True))
    story.run(30)
    story.entered |= {0: 101, 3: 101}
    story.inside, story.uncounted = {2}, 1
    story.run(LOOK, moving=True)
    story.run(STILL_SECONDS + 2 * LOOK)
    assert story.stuck == (False, "NotStuck")
    story.run(30, silent=1)
    assert story.stuck == (True, "CollectiveStuck")
    stuck = story.kept.condition(STUCK)
    assert stuck is not None
    assert stuck.message.endswith(": 2 of 4 ranks wait in all_reduce #101 (default_pg); rank 1 has stopped reporting")
    (found,) = story.findings()
    assert found.ranks == (1,)


def test_it_is_written_once_and_ends_with_the_next_move() -> None:
    story = hanging()
    writes = story.writes
    story.run(600)
    assert story.writes == writes
    story.entered[2] += 1
    story.run(LOOK, moving=True)
    assert story.stuck == (False, "NotStuck")
    assert story.findings() == ()


def test_a_process_of_a_pod_with_several_is_named_with_the_rank_of_its_pod() -> None:
    story = Publishing()
    story.assemble()
    story.member = {0: 0, 1: 0, 2: 1, 3: 1}
    story.run(30)
    story.entered[0] = story.entered[1] = story.entered[2] = 101
    story.run(LOOK, moving=True)
    story.run(60)
    stuck = story.kept.condition(STUCK)
    assert stuck is not None
    assert "; process 3 of rank 1 has entered only 100" in stuck.message
    (found,) = story.findings()
    assert found.ranks == (1,)
    assert found.what.startswith("its process 3 entered only 100")


def test_a_rank_that_publishes_nothing_any_more_is_not_said_to_have_a_count_of_now() -> None:
    story = Publishing()
    story.assemble()
    story.run(30)
    for rank in (0, 1, 3):
        story.entered[rank] += 1
    story.run(LOOK, moving=True, silent=2)
    story.run(60, silent=2)
    stuck = story.kept.condition(STUCK)
    assert stuck is not None
    assert "Z: 3 of 4 ranks wait in all_reduce #101 (default_pg); rank 2 has stopped reporting after 100" in (
        stuck.message
    )


def test_once_a_member_has_ended_or_its_pod_says_more_nothing_is_said_of_collectives() -> None:
    story = hanging()
    story.end(0)
    story.look()
    assert story.stuck[1] != "CollectiveStuck"


def test_a_daemon_that_takes_over_leaves_it_and_names_the_rank_until_it_has_looked_itself() -> None:
    story = hanging()
    before, seen = story.kept.condition(STUCK), story.view
    story.view = View()
    for rank in range(4):
        story.view.change(None, seen.of(0).members[rank])
    assert seen.probe is not None
    story.view.observe_probe(replace(seen.probe.answer, at=story.now), 0)
    story.view.engine.answered = True
    story.look()
    assert story.kept.condition(STUCK) == before
    (found,) = story.findings()
    assert (found.cause, found.ranks, found.what) == (
        Causes.COLLECTIVE_BEHIND,
        (2,),
        "others wait for it in a collective",
    )
    story.run(4 * LOOK)
    assert story.stuck == (True, "CollectiveStuck")
    assert story.findings()[0].what.startswith("entered only 100, not all_reduce #101")
