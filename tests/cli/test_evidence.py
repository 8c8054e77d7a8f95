"""After a failure the traceback of the cause is shown; that of a rank that lost it is titled as such."""

from typing import Any

import pytest

from muster.api.causes import Cause
from muster.api.last_words import HEAD
from muster.cli.processes.evidence import LONGEST, Printed, Tracebacks, exception_before, of_end, runs_on
from muster.kinds.jax.operator import SURVIVOR_TEXT

FRAME = '  File "train.py", line 1, in <module>'
LOST = "ValueError: UNKNOWN: Gloo AllGather failed: [gloo/transport/tcp/pair.cc:547] Connection closed by peer"


def cause(rank: int = 2, exit_code: int | None = 1, **fields: Any) -> Cause:
    return Cause(epoch=0, reason="Error", rank=rank, at=1_000.0, exit_code=exit_code, **fields)


def tracebacks(**of: str) -> Tracebacks:
    """One of each rank, given as ``r1="ValueError: x"``."""
    found = Tracebacks()
    for rank, error in of.items():
        for line in (HEAD, FRAME, error):
            found.take(int(rank[1:]), line)
    return found


def shown(found: Tracebacks, **last: Printed) -> list[str]:
    return of_end(cause(), found, {int(rank[1:]): line for rank, line in last.items()}, SURVIVOR_TEXT)


def test_the_traceback_of_the_cause_is_shown_whole() -> None:
    found = tracebacks(r1=LOST, r2="ValueError: loss is NaN")
    assert shown(found) == ["the traceback of rank 2 was:", f"  {HEAD}", f"  {FRAME}", "  ValueError: loss is NaN"]


def test_a_traceback_that_is_cut_has_a_mark() -> None:
    found = Tracebacks()
    for line in (HEAD, *[FRAME] * LONGEST, "ValueError: x"):
        found.take(2, line)
    title, mark, *rest = shown(found)
    assert (title, mark) == ("the traceback of rank 2 was:", f"  … (its last {LONGEST} lines)")
    assert (len(rest), rest[-1]) == (LONGEST, "  ValueError: x")


def test_the_ranks_that_raised_the_same_are_counted_and_not_shown() -> None:
    missing = "ModuleNotFoundError: No module named 'torhc'"
    found = tracebacks(r0=missing, r1="ValueError: other", r2=missing, r3=missing)
    assert shown(found) == [
        "the traceback of rank 2 (its last line is the same in 2 more ranks: 0, 3) was:",
        f"  {HEAD}",
        f"  {FRAME}",
        f"  {missing}",
    ]
    assert of_end(None, tracebacks(r1=LOST, r2=LOST), {}, SURVIVOR_TEXT)[0] == (
        "the traceback of rank 1 (its last line is the same in 1 more rank: 2) was:"
    )


def test_the_traceback_of_a_victim_is_one_line_that_says_so() -> None:
    assert shown(tracebacks(r1=LOST), r2=Printed("hello from 2/4", False, 998.0)) == [
        "the last line of rank 2, 2s before its end: hello from 2/4",
        f"rank 1 failed because rank 2 was gone: {LOST}",
    ]


def test_a_rank_that_held_the_gang_up_did_not_end_and_was_not_gone() -> None:
    known = cause(exit_code=None, evidence="rank 1 ended with exit code 1")
    assert of_end(known, tracebacks(r1=LOST), {2: Printed("step 4", False, 940.0)}, SURVIVOR_TEXT) == [
        "the last line of rank 2, 60s before the end of the gang: step 4",
        f"rank 1 gave up waiting for rank 2: {LOST}",
    ]


def test_another_traceback_is_reported_not_to_be_that_of_the_cause() -> None:
    title, *lines = shown(tracebacks(r1="KeyError: 'x'"))
    assert title == "rank 2 is the cause, and printed no traceback; rank 1 did:"
    assert lines[-1] == "  KeyError: 'x'"


@pytest.mark.parametrize("known", [None, cause(-1)])
def test_where_no_rank_is_the_cause_the_first_traceback_is_shown(known: Cause | None) -> None:
    assert of_end(known, tracebacks(r1=LOST), {}, SURVIVOR_TEXT)[0] == "the traceback of rank 1 was:"


def test_a_last_line_without_a_time_has_no_age() -> None:
    assert shown(Tracebacks(), r2=Printed("hello", False)) == ["the last line of rank 2: hello"]
    assert shown(Tracebacks(), r2=Printed("[W1128 05:56:20 socket.cpp:207] [c10d] x", False)) == []
    assert shown(Tracebacks(), r2=Printed(" ", False, 999.0)) == []
    assert shown(Tracebacks(), r1=Printed("hello", False, 999.0)) == []


def test_the_exception_of_a_rank_that_waited_is_named_and_that_of_a_killed_one_is_not() -> None:
    found = tracebacks(r2="ValueError: bad batch 20")
    assert exception_before(cause(exit_code=134), found) == "rank 2 had raised ValueError: bad batch 20"
    assert exception_before(cause(exit_code=137), found) == ""
    assert exception_before(cause(exit_code=1), found) == ""
    assert exception_before(cause(exit_code=134), tracebacks(r1=LOST)) == ""
    assert exception_before(None, found) == ""


def test_a_rank_that_runs_on_is_reported_to_wait_only_if_the_program_did_not_catch_it() -> None:
    said = runs_on(2, "ValueError: bad batch 20", assisted=False)
    assert said.startswith("rank 2 has raised ValueError and has neither ended nor printed anything for 10s: unless")
    assert said.endswith("it waits for the others; --assist ends it then")
    assert runs_on(2, "ValueError", assisted=True).endswith("it waits for the others")
