"""What counts as right in the tables: the rank and what it does, no other rank, and a verdict that stays."""

from pathlib import Path
from typing import Any

import pytest

from tests.hangs.judged import judge
from tests.hangs.programs import HALTED, ways
from tests.hangs.rows import Channel, Row, Shown, jax, torch
from tests.hangs.world import Gang, Said

LINE = ways.sleeps.__code__.co_firstlineno + 1
PLACE = f"no progress since 08:18:47Z: rank 1 is in sleeps (ways.py:{LINE}); the other 2 are in process_allgather"
ENTERED = "2 of 3 ranks wait in all_reduce #42 (default_pg); rank 1 has entered only 41"
TORN = "; ".join(
    f"1 of {size} ranks waits in {operation} ({group}); rank 1 has stopped reporting"
    for size, operation, group in ((3, "all_reduce #66", "default_pg"), (2, "broadcast #14", "process group 1"))
)
"""Each rank that works waits for rank 1 in another group."""
MIXED = "rank 1 called all_gather #7 (default_pg), ranks 0, 2 called all_reduce #7"
SILENT = "no rank has printed a line or made a step for 12 min (usual: 4 s)"
BY_PLACE, BY_RECORD = jax(Channel.ASSIST, "sleeps", Shown.PLACES), torch(Channel.ASSIST, "sleeps", Shown.RECORDER)


@pytest.mark.parametrize(
    ("row", "sentence", "right"),
    [
        (BY_PLACE, PLACE, True),
        (BY_PLACE, PLACE.replace("rank 1", "rank 2"), False),
        (BY_PLACE, f"{PLACE}; rank 0 is in train (train.py:3)", False),
        (BY_PLACE, PLACE.replace(f":{LINE}", ":1"), False),
        (BY_PLACE, "no progress: rank 1 does not respond (last seen in next_batch (course.py:60))", True),
        (jax(Channel.REPORT, "sleeps", Shown.STEPS), "no step since then (last step 18, rank 1 at 17)", True),
        (jax(Channel.REPORT, "sleeps", Shown.STEPS), "no step since then (last step 18)", False),
        (BY_RECORD, ENTERED, True),
        (BY_RECORD, ENTERED.replace("rank 1", "ranks 1-2"), False),
        (BY_RECORD, TORN, True),
        (BY_RECORD, TORN.replace("waits", "wait"), False),
        (torch(Channel.ASSIST, "leaves_early", Shown.MISMATCH), MIXED, True),
        (torch(Channel.ASSIST, "leaves_early", Shown.MISMATCH), MIXED.replace("rank 1", "rank 0"), False),
        (torch(Channel.ASSIST, "leaves_early", Shown.MISMATCH), ENTERED, False),
        (jax(Channel.ENDPOINT, "sleeps", Shown.GANG), "no report since then (last step 57, by 3 ranks)", True),
        (jax(Channel.ENDPOINT, "sleeps", Shown.GANG), "no report since then (last step 57, rank 1 at 56)", False),
    ],
)
def test_a_sentence_is_right_where_it_names_the_rank_and_no_other(row: Row, sentence: str, right: bool) -> None:
    assert row.right(1, sentence) is right


@pytest.mark.parametrize(
    ("line", "right"),
    [
        (SILENT, True),
        ("no rank has printed a line for 50s (usual: 4 s)", True),
        ("rank 1 is computing in numpy_loop (ways.py:88); 2 ranks wait for it", True),
        ("rank 1 waits for input in prompt (ways.py:148); 2 ranks wait for it", True),
        ("rank 2 is computing in numpy_loop (ways.py:88); 2 ranks wait for it", False),
        ("3/3 ranks arrived", False),
    ],
)
def test_a_hint_is_the_silence_or_what_the_rank_does(line: str, right: bool) -> None:
    assert jax(Channel.ASSIST, "numpy_loop", Shown.AT_WORK).right_hint(1, line) is right


def gang(row: Row, folder: Path, *said: Said, **more: Any) -> Gang:
    """A gang that has come to its halt, of which that was said."""
    (folder / HALTED).touch()
    return Gang(row, 1, folder, said=list(said), **more)


def test_a_verdict_that_ends_is_wrong_unless_the_rank_goes_on(tmp_path: Path) -> None:
    late = 4e9
    stays = gang(BY_PLACE, tmp_path, Said(late, "Hung", PLACE))
    over = gang(BY_PLACE, tmp_path, Said(late, "Hung", PLACE), Said(late + 9, ""), asked_at=late + 2)
    assert [judge(each).right for each in (stays, over)] == [True, False]
    assert "withdrawn 7 s after its stacks were asked for" in judge(over).said
    again = jax(Channel.REPORT, "sleeps", Shown.STEPS, again=True)
    assert not judge(gang(again, tmp_path, Said(late, "Hung", PLACE))).right
    assert judge(gang(again, tmp_path, Said(late, "Hung", PLACE), Said(late + 9, ""))).right


def test_the_end_of_a_run_that_still_names_the_rank_ends_no_verdict(tmp_path: Path) -> None:
    late = 4e9
    said = [Said(late, "Hung", PLACE), Said(late + 9, "")]
    ended = gang(BY_PLACE, tmp_path, *said, Said(late + 9, "Failed", "rank 1 held the gang up, Hung for 83 s"))
    other = gang(BY_PLACE, tmp_path, *said, Said(late + 9, "Failed", "rank 0 ended with exit code 137"))
    assert [judge(each).right for each in (ended, other)] == [True, False]


def test_a_verdict_before_the_halt_and_nothing_said_are_wrong(tmp_path: Path) -> None:
    assert not judge(gang(BY_PLACE, tmp_path, Said(1.0, "Hung", PLACE))).right
    assert not judge(gang(BY_PLACE, tmp_path)).right
    assert not judge(Gang(BY_PLACE, 1, tmp_path / "nowhere")).right


def test_any_verdict_of_a_healthy_gang_is_wrong(tmp_path: Path) -> None:
    found = judge(gang(jax(Channel.ASSIST, "evaluation", Shown.NOTHING), tmp_path, Said(4e9, "Hung", PLACE)))
    assert not found.right
    assert found.line.startswith("WRONG  jax-assist-evaluation")
