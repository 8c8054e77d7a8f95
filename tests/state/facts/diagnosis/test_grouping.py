"""The sentence of the status groups members by cause, in an order that does not depend on events, and is bounded."""

from typing import Any

import pytest

from muster.api.wire.kinds import MAX_MESSAGE
from muster.state.facts.causes.table import Causes
from muster.state.facts.diagnosis import diagnose as seen
from muster.state.facts.diagnosis.classifier import Finding
from muster.state.facts.diagnosis.diagnose import MOST, listed
from muster.state.view.roll import RankState
from muster.state.view.turns import BURST, REFILL
from muster.state.vocabulary.record import ConditionType
from tests.builders import answer, plan, pod
from tests.state.facts.diagnosis.test_diagnose import NOT_READY, PULL, context
from tests.state.story import Story
from tests.state.view.test_stage import CRASHED, NODELESS


def finding(*ranks: int, count: int | None = None, what: str = "fails") -> Finding:
    return Finding(
        cause=Causes.CRASHED, ranks=ranks, count=len(ranks) if count is None else count, what=what, evidence="",
        next_step="",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "who"),
    [
        (finding(3), "rank 3"),
        (finding(8, 9, 10, 11), "ranks 8-11"),
        (finding(0, 2, 4), "ranks 0, 2, 4"),
        (finding(0, 2, count=5), "ranks 0, 2 and 3 more"),
        (finding(count=1), "1 rank"),
        (finding(count=2), "2 ranks"),
    ],
)
def test_a_finding_names_its_ranks_and_counts_those_that_are_not_named(found: Finding, who: str) -> None:
    assert found.who == who
    assert found.sentence == f"{who}: fails"


def test_a_long_list_of_ranks_is_cut_and_the_rest_is_counted() -> None:
    ranks = tuple(range(0, 1000, 2))
    who = finding(*ranks).who
    named, rest = who.removeprefix("ranks ").split(" and ")
    assert len(named.split(", ")) + int(rest.removesuffix(" more")) == len(ranks)


def story_of(size: int) -> Story:
    story = Story(plan(size=size)).launch()
    story.schedule()
    return story


def test_one_member_is_named_with_its_pod_and_several_by_their_cause() -> None:
    here = context(pod(0), pod(1, **NODELESS), pod(2, **PULL), pod(3, **PULL), wanted=plan())
    assert listed(here, (1,), 1).sentence == f"rank 1 ({pod(1).name}, Pending: not scheduled yet)"
    waits = 'Pending: ImagePullBackOff, Back-off pulling image "registry/x:1"'
    assert listed(here, (1, 2, 3), 3).sentence == (
        f"ranks 2-3: the image registry/x:1 cannot be pulled (first: {pod(2).name}, {waits}); "
        f"rank 1: no node yet ({pod(1).name}, Pending: not scheduled yet)"
    )


def test_a_member_on_a_node_that_is_not_ready_is_not_blamed_for_its_silence() -> None:
    here = context(pod(0), pod(1, node="n7", **NOT_READY), wanted=plan())
    assert listed(here, (1,), 1).sentence == f"rank 1 ({pod(1).name}, running, but its node n7 is not ready)"


def test_a_stale_member_is_not_reported_to_be_as_one_that_was_started_again() -> None:
    ready = [pod(rank, restarts=1) for rank in range(4)]
    states = (RankState.CONNECTED, RankState.MISSING, RankState.STALE, RankState.STALE)
    here = context(*ready, heard=answer(*states), wanted=plan())
    stale = f"ranks 2-3: known only to the coordinator that ran before this one (first: {pod(2).name})"
    said = listed(here, (1, 2, 3), 3).sentence
    assert stale in said.split("; ")
    assert "rank 1: running, but not registered with the coordinator" in said


def test_at_most_three_causes_and_64_members_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: list[dict[str, Any]] = [PULL, NODELESS, CRASHED, NOT_READY | {"node": "n7"}]
    here = context(*(pod(rank, **kinds[rank % 4]) for rank in range(8)), wanted=plan(size=8))
    assert listed(here, range(8), 8).sentence.endswith("; and 2 more")
    looked: list[int] = []
    monkeypatch.setattr(seen, "_looks", lambda _, rank, __: looked.append(rank))
    many = context(wanted=plan(size=10_000))
    said = listed(many, iter(range(10_000)), 10_000).sentence
    assert (len(looked), said.endswith(f"; and {10_000 - MOST} more")) == (MOST, True)


def test_the_status_says_the_grouped_sentence_whatever_the_order_of_events() -> None:
    said = set()
    for order in (range(8, 16), range(15, 7, -1)):
        story = story_of(16)
        story.start()
        story.observe_probe(*range(16), passed=True)
        story.look()
        for rank in order:
            story.set(rank, node="n7", **NOT_READY)
        story.look(5.0)
        said.add(story.kept.message)
    (only,) = said
    assert only.startswith("ranks 8-15: node n7 is not ready (first: run-worker-0-8-")


def test_the_sentence_of_a_gang_with_scattered_members_stays_within_the_bound() -> None:
    story = story_of(512)
    for rank in range(512):
        if rank % 2:
            story.set(rank, **PULL | {"waiting_message": "x" * 2000})
    story.look(5.0)
    story.look(20.0)
    assert len(story.kept.message) <= MAX_MESSAGE + 2000, "the message is cut where it is written"
    assert "and more" in story.kept.message, "the first is named while others may follow"
    assert story.condition(ConditionType.STUCK) == (True, "ImagePullBackOff")
    story.set(511, node="node-1")
    story.look(20.0)
    said = "fewer than 256 of 512 programs have started; ranks 1, 3, 5, "
    assert story.kept.message.startswith(said), "a gang that is stuck does not move: all are grouped"


def test_a_cause_that_flaps_does_not_write_at_each_turn() -> None:
    story = story_of(4)
    before = story.writes
    for second in range(300):
        reason = "ErrImagePull" if second % 2 else "CreateContainerConfigError"
        for rank in (1, 2):
            story.set(rank, waiting_reason=reason, waiting_message=f"attempt {second}")
        story.look(1.0)
    assert story.kept.reason != "NotStuck"
    assert story.writes - before <= BURST + 300 / REFILL + 1
