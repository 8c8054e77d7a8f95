"""The evidence of an epoch is taken before its pods are stopped, and kept with its end."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from muster.api.causes import MAX_EPOCHS, MAX_FINDINGS, MAX_STACKS, RANGES, EpochEvidence, FindingThen, StackThen
from muster.api.gang import RollCall
from muster.api.places import MAX_STACK, PLACES, STACKS
from muster.api.status import ExperimentStatus
from muster.api.values.rank_ranges import to_ranges
from muster.api.wire.kinds import MAX_COUNTER, MAX_MESSAGE
from muster.client.explaining.lines import of_epoch
from muster.state.facts.causes.table import Causes
from muster.state.summary.evidence import stacks_of
from muster.state.view.places import Heard, PlaceGroup, PlaceReport, Places, places_in_turns
from muster.state.view.turns import finished
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.rules import ClockAction, ClockName
from muster.watchers.probes.jax.places import PlaceReader
from tests.builders import Clock, plan, sure
from tests.fakes.places import Store, value
from tests.state.facts.test_standing_ranks import NEXT, Standing, started
from tests.state.story import Story

HANGS = {ClockName.PROGRESS: Clock(300.0, ClockAction.RESTART)}


def ended(story: Standing) -> Standing:
    """Rank 2 stands in its data loader until the clock ``progress`` ends the epoch."""
    story.places[2] = NEXT
    while story.kept.phase is Phase.RUNNING:
        story.run(5, standing=True)
        if story.kept.phase is Phase.RUNNING:
            story.look()
    return story


def hung(**overrides: Any) -> Standing:
    story = started(1, clocks=HANGS, **overrides)
    story.stacks = ((2, ("next (data.py:41)", "main (train.py:12)")),)
    return ended(story)


def test_the_clock_that_restarts_a_hang_leaves_where_each_rank_stood() -> None:
    story = hung()
    assert (story.kept.phase, story.kept.epoch) == (Phase.RESTARTING, 1)
    (kept,) = story.kept.evidence
    assert (kept.epoch, kept.phase, kept.next, kept.stuck) == (0, "Running", "Restarting", "Hung")
    assert kept.places == "rank 2 is in next (data.py:41); the other 3 are in all_reduce (train.py:88)"
    assert kept.stacks == (
        StackThen(2, "next (data.py:41), main (train.py:12)", "2", 1),
        StackThen(0, "stack not read (in all_reduce (train.py:88))", "0-1,3", 3),
    )
    assert kept.findings[0].cause == Causes.HUNG.value
    assert kept.findings[0].ranks == "2"
    assert kept.at == story.now
    assert kept.stuck_at is not None
    assert kept.stuck_at < kept.at
    assert kept.began_at is not None
    assert kept.reason == "ProgressDeadlineExceeded"
    assert kept.how.startswith("ProgressDeadlineExceeded")
    assert "step" in kept.steps
    assert sure(story.last).record.evidence == story.kept.evidence, "it is persisted with the verdict"


def test_the_stacks_of_all_ranks_are_kept_by_equal_stacks() -> None:
    """Two stacks at one line are two rows; a rank whose stack was not read has its place."""
    story = started(clocks=HANGS)
    story.digests = {0: "a", 1: "a", 2: "b", 3: "c"}
    story.stacks = ((0, ("wait (pool.py:3)", "step (train.py:88)")), (3, ("poll (rpc.py:9)", "step (train.py:88)")))
    assert ended(story).kept.evidence[0].stacks == (
        StackThen(2, "stack not read (in next (data.py:41))", "2", 1),
        StackThen(3, "poll (rpc.py:9), step (train.py:88)", "3", 1),
        StackThen(0, "wait (pool.py:3), step (train.py:88)", "0-1", 2),
    )


def gang(said: Sequence[tuple[str, str, float, bool]]) -> Places:
    """Ranks by function and stack, with the seconds that each has stood, and whether each answers."""
    ranks = {
        rank: Heard(PlaceReport(rank, stood, 0.0, function=function, file="f.py", line=1, stack=stack), 0.0)
        for rank, (function, stack, stood, _) in enumerate(said)
    }
    groups: dict[tuple[str, bool], list[int]] = {}
    for rank, (*_, answers) in enumerate(said):
        groups.setdefault((ranks[rank].report.place, answers), []).append(rank)
    found = tuple(PlaceGroup(tuple(members), place, answers) for (place, answers), members in groups.items())
    return Places(epoch=0, began_at=0.0, groups=found, stacks={0: ("x (f.py:1)", "y (f.py:9)")}, ranks=ranks)


def test_stacks_beyond_the_rows_share_one_and_no_rank_is_left_out() -> None:
    said = [
        (place, "s", 60.0, True)
        for place in ["most"] * 100 + [f"p{size}" for size in range(1, 11) for _ in range(size)]
    ]
    kept = list(stacks_of(gang(said), 155))
    assert [row.count for row in kept] == [1, 2, 3, 4, 5, 6, 7 + 8 + 9 + 10, 100]
    assert [row.calls for row in kept[-3:]] == ["stack not read (in p6 (f.py:1))", "", "x (f.py:1), y (f.py:9)"]
    assert [row.ranks for row in kept[-3:]] == ["115-120", "121-154", "0-99"]


def test_the_rank_that_stands_elsewhere_comes_before_other_stacks_at_the_place_of_most() -> None:
    at_most = [("most", stack, 60.0, True) for stack in ["s"] * 50 + [*"tuvwxyz"]]
    rows = list(stacks_of(gang([*at_most, ("next", "s", 60.0, True)]), 58))
    assert [row.ranks for row in rows] == ["57", "50", "51", "52", "53", "54", "55-56", "0-49"]


def test_each_rank_without_a_stack_has_a_row_that_says_why() -> None:
    said = [("most", "s", 60.0, True)] * 4
    said += [
        ("gone", "a", 60.0, False),
        ("gone", "b", 1.0, False),
        ("gone", "s", 60.0, True),
        ("moves", "s", 1.0, True),
    ]
    assert [(row.ranks, row.calls) for row in stacks_of(gang(said), 8)] == [
        ("6", "stack not read (in gone (f.py:1))"),
        ("7", "no stack (had been in moves (f.py:1) for less than 20 s)"),
        ("4-5", "no response (last seen in gone (f.py:1))"),
        ("0-3", "x (f.py:1), y (f.py:9)"),
    ]
    heard_of_four = next(stacks_of(gang(said[:4]), 6))
    assert (heard_of_four.ranks, heard_of_four.calls) == ("4-5", "no stack (where it is was not heard)")


def test_the_rows_of_a_large_gang_have_each_rank_once_and_stay_short() -> None:
    said = [("most" if rank % 2 else f"f{rank % 200}", "s", 60.0, True) for rank in range(20_000)]
    kept = tuple(stacks_of(gang(said), 20_000))
    assert len(kept) == MAX_STACKS
    assert sum(row.count for row in kept) == 20_000
    assert all(len(row.ranks) <= RANGES for row in kept)


async def test_hostile_stacks_of_512_ranks_stay_within_their_bound_and_on_their_line() -> None:
    escape = "\x1b[31m\x1b]0;x\x07\u202e\r\n\N{PILE OF POO}"
    stack = json.dumps([[escape, f"{escape}{'x' * 90}", line] for line in range(11)], ensure_ascii=False)
    store = Store({f"{STACKS}/{rank}": stack.encode() for rank in range(512)})
    for rank in range(512):
        store.values[f"{PLACES}/{rank}"] = value(
            **{"in": escape * 2, "file": escape * 2, "line": rank // 2 % 9 * (rank % 2), "stack": f"{escape}{rank % 3}"}
        )
    assert len(stack.encode()) <= MAX_STACK
    reader = PlaceReader(512)
    places = sure(finished(places_in_turns(await reader.read(store.get), dict(reader.stacks), 0, 0.0, None, 512)))
    kept = tuple(stacks_of(places, 512))
    assert sum(row.count for row in kept) == 512
    assert any(len(row.calls) > MAX_MESSAGE for row in kept)
    written = ExperimentStatus(
        evidence=(EpochEvidence(epoch=0, at=1.0, phase="Running", next="Restarting", stacks=kept),)
    ).to_object()["evidence"][0]
    assert len(kept) == MAX_STACKS
    assert len(json.dumps(written["stacks"], ensure_ascii=False).encode()) < MAX_STACKS * 1_300
    row = ExperimentStatus.from_object({"evidence": [written]}).evidence[0]
    assert all(len(each.calls.encode()) <= MAX_MESSAGE + 2 for each in row.stacks)
    assert all(line.isprintable() for line in of_epoch(row, ExperimentStatus()))


def test_a_run_that_fails_keeps_what_its_last_epoch_waited_for() -> None:
    story = hung(limit=0)
    assert story.kept.phase is Phase.FAILED
    (kept,) = story.kept.evidence
    assert (kept.next, kept.reason, kept.how) == ("Failed", story.kept.reason, story.kept.message)
    assert kept.places.startswith("rank 2 is in next")


def test_a_rank_that_fails_is_in_the_evidence_of_its_epoch() -> None:
    story = Story(plan()).assemble()
    story.end(1, 3)
    story.look()
    (kept,) = story.kept.evidence
    assert kept.next == story.kept.phase
    assert kept.stuck == ""
    assert kept.stuck_at is None
    assert "rank 1" in kept.how
    assert [found.ranks for found in kept.findings] == ["1"]


def test_a_successful_run_has_no_evidence() -> None:
    story = Story(plan()).assemble()
    for rank in range(4):
        story.end(rank)
    story.look()
    assert story.kept.phase is Phase.SUCCEEDED
    assert story.kept.evidence == ()


def test_an_epoch_that_never_began_has_no_evidence() -> None:
    story = Story(plan(limit=5)).assemble()
    story.end(1, 3)
    story.look()
    assert len(story.kept.evidence) == 1
    story.plan = replace(story.plan, lifecycle=replace(story.plan.lifecycle, suspend=True))
    story.look()
    assert len(story.kept.evidence) == 1


def test_a_suspension_keeps_the_evidence_of_the_epoch_that_it_ends() -> None:
    story = Story(plan()).launch()
    story.plan = replace(story.plan, lifecycle=replace(story.plan.lifecycle, suspend=True))
    story.look()
    (kept,) = story.kept.evidence
    assert (kept.epoch, kept.next) == (0, "Suspended")
    assert (kept.reason, kept.how) == ("", "")


@pytest.mark.parametrize(("text", "most"), [("\N{PILE OF POO}", 32_000), ("x", 32_000), ('"\\', 64_000)])
def test_the_newest_epochs_are_kept_in_a_status_of_bounded_size(text: str, most: int) -> None:
    long, ranks = text * 5_000, to_ranges(range(1000, 2000, 2), RANGES)
    row = EpochEvidence(
        epoch=0, at=1.0, phase=long, next=long, reason=long, how=long, began_at=1.0, waited_for=long, stuck=long,
        stuck_at=1.0, stuck_by=long, known=long, roll=RollCall(512, 0, tuple(range(512))), steps=long,
        collectives=long, places=long, findings=(FindingThen(long, long, long, ranks, MAX_COUNTER, long),) * 50,
        stacks=(StackThen(MAX_COUNTER, long, ranks, MAX_COUNTER),) * 50,
    )  # fmt: skip
    assert all(getattr(row, name) for name in row.__struct_fields__ if name != "epoch")
    rows = tuple(structs.replace(row, epoch=epoch) for epoch in range(20))
    written = ExperimentStatus(evidence=rows).to_object()
    assert [each["epoch"] for each in written["evidence"]] == list(range(20 - MAX_EPOCHS, 20))
    assert len(written["evidence"][0]["findings"]) == MAX_FINDINGS
    assert len(written["evidence"][0]["stacks"]) == MAX_STACKS
    assert all(len(json.dumps(each, ensure_ascii=False).encode()) < most for each in written["evidence"])
    assert ExperimentStatus.from_object(written).evidence[-1].epoch == 19
