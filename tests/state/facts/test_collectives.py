"""A gang that waits in a collective is Stuck with CollectiveStuck, and the rank that is not in it is named.

tests/state/view/recorder/test_collectives.py asks which rank is late, and when.
"""

import pytest

from muster.state.facts.causes.table import Causes
from muster.state.view.recorder.arrivals import CollectiveReport, GroupCount
from muster.state.view.recorder.collectives import STILL_SECONDS
from muster.state.view.stage import Doing
from muster.state.vocabulary.record import Phase
from tests.builders import plan, sure
from tests.state.facts.hanging import FREE, AskedStory

LOOK = 3.0


class Publishing(AskedStory):
    """A gang of four that publishes; a look of the probe every 3 s."""

    def __init__(self) -> None:
        super().__init__(plan())
        self.entered = dict.fromkeys(range(4), 100)
        self.member = {rank: rank for rank in range(4)}
        self.doing: dict[int, Doing] = {}
        self.beat = 0
        self.still = 0.0
        self.assemble()

    def run(self, seconds: float, *, moving: bool = False, silent: int = -1) -> None:
        for _ in range(int(seconds / LOOK)):
            self.now += LOOK
            self.beat += 1
            self.still = 0.0 if moving else self.still + LOOK
            self.hear(collectives=tuple(self.report(rank, 1 if rank == silent else self.beat) for rank in self.entered))

    def report(self, rank: int, beat: int) -> CollectiveReport:
        count = self.entered[rank]
        waits = count == max(self.entered.values())
        return CollectiveReport(
            self.member[rank], rank, 1, beat, sum(self.entered.values()), 1.0, self.still,
            (GroupCount("0", "default_pg", "gloo", 4, "0-3", count, "all_reduce", waits),),
            doing=self.doing.get(rank, Doing()),
        )  # fmt: skip

    def hang(self, *entered: int, silent: int = -1) -> None:
        """These ranks enter one collective more, and nothing moves after that."""
        self.run(30)
        assert self.stuck == FREE
        for rank in entered:
            self.entered[rank] += 1
        self.run(LOOK, moving=True, silent=silent)
        self.run(STILL_SECONDS - LOOK, silent=silent)
        assert self.stuck == FREE
        self.run(5 * LOOK, silent=silent)


def hanging() -> Publishing:
    story = Publishing()
    story.hang(0, 1, 3)
    return story


def test_the_rank_that_has_not_entered_is_named_with_the_collective_and_the_counts() -> None:
    story = hanging()
    assert story.stuck == (True, "CollectiveStuck")
    assert story.sentence.startswith("no collective has started or finished since ")
    assert story.sentence.endswith("Z: 3 of 4 ranks wait in all_reduce #101 (default_pg); rank 2 has entered only 100")
    (found,) = story.findings()
    assert (found.cause, found.ranks) == (Causes.COLLECTIVE_BEHIND, (2,))
    assert found.what == "entered only 100, not all_reduce #101 (default_pg)"
    assert "3 of 4 ranks wait in all_reduce #101" in found.evidence
    assert (story.kept.phase, story.kept.reason) == (Phase.RUNNING, "CollectiveStuck")
    assert story.kept.known is not None
    assert (story.kept.known.cause, story.kept.known.ranks) == ("CollectiveBehind", "2")


@pytest.mark.parametrize(
    ("doing", "silent", "words", "place"),
    [
        (Doing("in next (data.py:41)"), -1, "has entered only 100 and is in next (data.py:41)", "in next (data.py:41)"),
        (Doing("at train.py:19"), 2, "has stopped reporting after 100 (last seen at train.py:19)", "at train.py:19"),
        (Doing(), 2, "has stopped reporting after 100", "node-2"),
    ],
    ids=["its line is published", "silent since that line", "silent"],
)
def test_a_late_rank_is_named_with_what_it_published_last(doing: Doing, silent: int, words: str, place: str) -> None:
    story = Publishing()
    story.doing[2] = doing
    story.hang(0, 1, 3, silent=silent)
    assert story.sentence.endswith(f"Z: 3 of 4 ranks wait in all_reduce #101 (default_pg); rank 2 {words}")
    (found,) = story.findings()
    assert f"{place}; no collective has started or finished since " in found.evidence


def test_the_time_since_which_a_collective_waits_is_not_productive() -> None:
    story = hanging()
    seen = sure(story.view.collectives_of(0))
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


def test_it_is_written_once_and_ends_with_the_next_move() -> None:
    story = hanging()
    writes = story.writes
    story.run(600)
    assert story.writes == writes
    story.entered[2] += 1
    story.run(LOOK, moving=True)
    assert (story.stuck, story.findings()) == (FREE, ())


def test_a_process_of_a_pod_with_several_is_named_with_the_rank_of_its_pod() -> None:
    story = Publishing()
    story.member = {0: 0, 1: 0, 2: 1, 3: 1}
    story.hang(0, 1, 2)
    assert "; process 3 of rank 1 has entered only 100" in story.sentence
    (found,) = story.findings()
    assert found.ranks == (1,)
    assert found.what.startswith("its process 3 entered only 100")


def test_once_a_member_has_ended_or_its_pod_reports_more_nothing_is_reported_of_collectives() -> None:
    story = hanging()
    story.end(0)
    story.look()
    assert story.stuck[1] != "CollectiveStuck"


def test_a_daemon_that_takes_over_leaves_it_and_names_the_rank_until_it_has_looked_itself() -> None:
    story = hanging()
    words = story.stuck, story.sentence
    story.change_leader()
    assert (story.stuck, story.sentence) == words
    (found,) = story.findings()
    assert (found.cause, found.ranks) == (Causes.COLLECTIVE_BEHIND, (2,))
    assert found.what == "others wait for it in a collective"
    story.run(4 * LOOK)
    assert story.stuck == (True, "CollectiveStuck")
    assert story.findings()[0].what.startswith("entered only 100, not all_reduce #101")
