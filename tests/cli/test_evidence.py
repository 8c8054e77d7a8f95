"""What `muster run` shows of tracebacks: as they come, after a failure, and those that no restart can mend."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from muster.api.causes import Cause
from muster.api.last_words import HEAD
from muster.cli.processes.evidence import LONGEST, SHOWN, Printed, Tracebacks, exception_before, futile, of_end, runs_on
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


def traceback(error: str, frames: int = 1) -> list[str]:
    return [HEAD, *(f'  File "train.py", line {number}' for number in range(frames)), error]


def taken(found: Tracebacks, rank: int, lines: list[str]) -> list[str]:
    """Those of the lines that are shown as they come."""
    return [line for line in lines if found.take(rank, line)]


def test_the_first_traceback_is_shown_as_it_is_written_and_other_lines_are_not() -> None:
    found, lines = Tracebacks(), traceback("ValueError: loss is NaN")
    assert taken(found, 1, ["step 12", *lines, "Fatal error of a library"]) == lines


def test_of_further_tracebacks_the_last_line_is_shown_even_where_they_are_mixed() -> None:
    found = Tracebacks()
    first, second = traceback("ValueError: loss is NaN"), traceback("ValueError: Connection closed by peer")
    mixed = [(rank, line) for pair in zip(first, second, strict=True) for rank, line in enumerate(pair, 1)]
    assert [(rank, line) for rank, line in mixed if found.take(rank, line)] == [
        *((1, line) for line in first),
        (2, second[-1]),
    ]


def test_a_program_that_logs_every_exception_is_not_shown_for_ever() -> None:
    found = Tracebacks()
    lines = [taken(found, 1, traceback(f"KeyError: {number}")) for number in range(SHOWN + 5)]
    assert sum(map(len, lines)) == len(traceback("")) + SHOWN - 1


def test_an_exception_that_several_ranks_raise_is_shown_of_the_first_alone() -> None:
    found, missing = Tracebacks(), "ModuleNotFoundError: No module named 'torhc'"
    assert taken(found, 2, traceback(missing)) == traceback(missing)
    assert taken(found, 0, traceback(missing)) == []
    assert taken(found, 3, traceback("ValueError: other")) == ["ValueError: other"]
    assert taken(found, 5, traceback(missing)) == []
    assert (found.same_as(2), found.same_as(0), found.same_as(3)) == ([0, 5], [2, 5], [])
    assert found.same_as(7) == []


def test_the_last_traceback_of_a_rank_is_kept() -> None:
    found = Tracebacks()
    assert found.first() == (-1, [])
    for rank, error in ((2, "handled"), (1, "first"), (1, "last")):
        taken(found, rank, traceback(error))
    assert found.of(1) == traceback("last")
    assert found.of(3) == []
    assert found.first() == (2, traceback("handled"))


def test_of_a_long_traceback_the_end_is_kept() -> None:
    found, lines = Tracebacks(), traceback("RecursionError: too deep", frames=1000)
    assert taken(found, 1, lines) == lines
    assert found.of(1) == lines[-LONGEST - 1 :], "one more than is shown"


def test_an_empty_line_does_not_end_a_traceback() -> None:
    found = Tracebacks()
    lines = [HEAD, '  File "train.py", line 1', "", "ValueError: loss is NaN"]
    assert taken(found, 1, lines) == lines


def test_the_number_of_a_rank_in_front_of_each_line_is_left_out() -> None:
    found = Tracebacks()
    lines = [f"[rank1]: {line}" for line in traceback("ValueError: loss is NaN")]
    mixed = [each for line in lines for each in (line, "[rank0]: step 12", "W1128 05:00:00.1 77 api.py:900] Sending")]
    assert taken(found, 0, mixed) == lines
    assert found.of(0) == traceback("ValueError: loss is NaN")
    assert found.ended_with(0, lines[-1])


def test_the_traceback_of_a_launcher_does_not_hide_the_programs() -> None:
    found = Tracebacks()
    taken(found, 0, traceback("ValueError: loss is NaN"))
    taken(found, 0, [HEAD, '  File "/x/torch/distributed/run.py", line 9, in run', "a.b.ChildFailedError: "])
    taken(found, 0, ["  traceback : " + HEAD, '    File "train.py", line 1', "  ValueError: loss is NaN", "=" * 60])
    assert found.of(0) == traceback("ValueError: loss is NaN")


def test_the_traceback_of_an_exception_group_is_whole() -> None:
    found = Tracebacks()
    plain = traceback("ExceptionGroup: of a TaskGroup (2 sub-exceptions)")
    lines = [f"  + Exception Group {HEAD}", *(f"  | {line}" for line in plain[1:])]
    assert taken(found, 0, [*lines, "  +-+---------------- 1 ----------------"]) == lines
    assert found.of(0)[1:] == plain[1:]
    assert found.of(0)[0].endswith(HEAD)


@pytest.mark.parametrize(
    "line",
    [
        f"{sys.executable} train.py",
        f"{sys.executable} -m no_such_module",
        f"{sys.executable} -m email.no_such_module",
        f"{sys.executable} -m no_such_package.module",
        f"{sys.executable} -c 'import no_such_module'",
        "/bin/sh train.sh",
        "no-such-program",
        "./train.sh",
        "/etc/passwd",
    ],
)
def test_a_program_that_is_not_there_is_futile(line: str, tmp_path: Path) -> None:
    ran = subprocess.run(["/bin/sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode != 0
    last = ran.stderr.splitlines()[-1]
    assert futile(ran.returncode, last) == last


@pytest.mark.parametrize("code", [126, 127])
def test_the_exit_codes_of_the_shell_need_no_line(code: int) -> None:
    assert futile(code, "")


@pytest.mark.parametrize(
    ("code", "line"),
    [
        (1, "FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'"),
        (1, "RuntimeError: peer lost"),
        (2, "train.py: error: unrecognized arguments: --step"),
        (2, "tar: data.tar: Cannot open: No such file or directory"),
        (137, ""),
        (0, "python3: can't open file 'x': [Errno 2] No such file or directory"),
        (None, "ModuleNotFoundError: No module named 'x'"),
    ],
)
def test_other_failures_may_pass(code: int | None, line: str) -> None:
    assert futile(code, line) == ""
