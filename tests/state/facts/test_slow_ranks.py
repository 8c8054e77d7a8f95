"""The status says which rank comes last to the collectives of its gang, and ceases to when that is not so any more."""

from muster.state.facts.context import Context
from muster.state.facts.hang import slow
from muster.state.view.recorder.arrivals import HOLDS, WINDOW, WINDOWS, CollectiveReport, Share
from muster.state.vocabulary.record import Phase
from tests.builders import plan, sure
from tests.state.facts.hanging import AskedStory

LOOK = 3.0
PER_LOOK = 6
"""Samples, and collectives, between two looks."""
SAID = "rank 2 comes last to the collectives of default_pg; the others wait for it"


class Stepping(AskedStory):
    """A gang of four that steps together; a look of the probe every 3 s."""

    def __init__(self) -> None:
        super().__init__(plan())
        self.looks = 0
        self.inside = dict.fromkeys(range(4), 0)
        self.decisions = 0
        self.assemble()

    def run(self, seconds: float, *slow: int, wait: bool = True) -> None:
        """So many seconds; ``slow`` ranks do not wait, the others do where there is one, or ``wait`` says so."""
        for _ in range(int(seconds / LOOK)):
            self.now += LOOK
            self.looks += 1
            for rank in self.inside:
                self.inside[rank] += 0 if rank in slow else 4 if wait else 1
            reports = tuple(
                CollectiveReport(rank, rank, 1, self.looks, self.looks, 1.0, 0.0, None, (self.share(rank),))
                for rank in self.inside
            )
            if self.hear(collectives=reports):
                self.decisions += 1
                self.look(4.0)  # sentences are written 4 s after the write before

    def share(self, rank: int) -> Share:
        moments = PER_LOOK * self.looks
        return Share("0", "default_pg", "gloo", 4, "0-3", moments, moments, self.inside[rank], 0)


def named() -> Stepping:
    story = Stepping()
    story.run((WINDOWS - 1) * WINDOW, 2)
    assert "last" not in story.kept.message
    story.run(2 * WINDOW, 2)
    return story


def test_a_rank_that_comes_last_is_written_once_into_the_sentence_of_the_status_and_nothing_else_changes() -> None:
    story = named()
    assert story.kept.message == f"4/4 ranks arrived; {SAID}"
    assert (story.kept.phase, story.kept.reason, story.kept.epoch) == (Phase.RUNNING, "RollComplete", 0)
    assert not any(each.status for each in story.kept.conditions if each.type == "Stuck")
    assert sure(story.last).actions == ()
    writes, decisions = story.writes, story.decisions
    story.run(600, 2)
    assert (story.writes, story.decisions) == (writes, decisions)


def test_it_is_taken_back_when_the_rank_is_as_fast_as_the_others() -> None:
    story = named()
    story.run(2 * WINDOWS * WINDOW, wait=False)
    assert story.kept.message == "4/4 ranks arrived"


def test_two_ranks_that_come_last_are_named_together() -> None:
    story = Stepping()
    story.run((WINDOWS + 2) * WINDOW, 0, 2)
    assert story.kept.message.endswith(
        "ranks 0, 2 come last to the collectives of default_pg; the others wait for them"
    )


def test_nothing_is_reported_of_processes_that_are_not_heard_any_more() -> None:
    story = named()
    story.look(HOLDS - LOOK - 5)
    assert SAID in story.kept.message
    story.look(LOOK + 5)
    assert story.kept.message == "4/4 ranks arrived"
    assert slow(Context.at(story.plan, story.kept, story.view, story.now)) is None


def test_nothing_is_reported_of_it_once_the_gang_restarts() -> None:
    story = named()
    story.end(1, 3)
    story.look()
    assert story.kept.phase is Phase.RESTARTING
    assert "last" not in story.kept.message
