"""The tracebacks of an epoch: the first is shown whole, of the others the last line; the last of a rank is kept."""

from muster.api.last_words import HEAD
from muster.cli.processes.evidence import LONGEST, SHOWN, Tracebacks


def traceback(error: str, frames: int = 1) -> list[str]:
    return [HEAD, *(f'  File "train.py", line {number}' for number in range(frames)), error]


def shown(tracebacks: Tracebacks, rank: int, lines: list[str]) -> list[str]:
    return [line for line in lines if tracebacks.take(rank, line)]


def test_the_first_traceback_is_shown_as_it_is_written_and_other_lines_are_not() -> None:
    tracebacks, lines = Tracebacks(), traceback("ValueError: loss is NaN")
    assert shown(tracebacks, 1, ["step 12", *lines, "Fatal error of a library"]) == lines


def test_of_further_tracebacks_the_last_line_is_shown_even_where_they_are_mixed() -> None:
    tracebacks = Tracebacks()
    first, second = traceback("ValueError: loss is NaN"), traceback("ValueError: Connection closed by peer")
    mixed = [(rank, line) for pair in zip(first, second, strict=True) for rank, line in enumerate(pair, 1)]
    assert [(rank, line) for rank, line in mixed if tracebacks.take(rank, line)] == [
        *((1, line) for line in first),
        (2, second[-1]),
    ]


def test_a_program_that_logs_every_exception_is_not_shown_for_ever() -> None:
    tracebacks = Tracebacks()
    lines = [shown(tracebacks, 1, traceback(f"KeyError: {number}")) for number in range(SHOWN + 5)]
    assert sum(map(len, lines)) == len(traceback("")) + SHOWN - 1


def test_an_exception_that_several_ranks_raise_is_shown_of_the_first_alone() -> None:
    tracebacks, missing = Tracebacks(), "ModuleNotFoundError: No module named 'torhc'"
    assert shown(tracebacks, 2, traceback(missing)) == traceback(missing)
    assert shown(tracebacks, 0, traceback(missing)) == []
    assert shown(tracebacks, 3, traceback("ValueError: other")) == ["ValueError: other"]
    assert shown(tracebacks, 5, traceback(missing)) == []
    assert (tracebacks.same_as(2), tracebacks.same_as(0), tracebacks.same_as(3)) == ([0, 5], [2, 5], [])
    assert tracebacks.same_as(7) == []


def test_the_last_traceback_of_a_rank_is_kept() -> None:
    tracebacks = Tracebacks()
    for rank, error in ((2, "handled"), (1, "first"), (1, "last")):
        shown(tracebacks, rank, traceback(error))
    assert tracebacks.of(1) == traceback("last")
    assert tracebacks.of(3) == []
    assert tracebacks.first() == (2, traceback("handled"))


def test_without_a_traceback_none_is_kept() -> None:
    assert Tracebacks().of(0) == []
    assert Tracebacks().first() == (-1, [])


def test_of_a_long_traceback_the_end_is_kept() -> None:
    tracebacks, lines = Tracebacks(), traceback("RecursionError: too deep", frames=1000)
    assert shown(tracebacks, 1, lines) == lines
    assert tracebacks.of(1) == lines[-LONGEST - 1 :], "one more than is shown"


def test_an_empty_line_does_not_end_a_traceback() -> None:
    tracebacks = Tracebacks()
    lines = [HEAD, '  File "train.py", line 1', "", "ValueError: loss is NaN"]
    assert shown(tracebacks, 1, lines) == lines


def test_the_number_of_a_rank_in_front_of_each_line_is_left_out() -> None:
    tracebacks = Tracebacks()
    lines = [f"[rank1]: {line}" for line in traceback("ValueError: loss is NaN")]
    mixed = [each for line in lines for each in (line, "[rank0]: step 12", "W1128 05:00:00.1 77 api.py:900] Sending")]
    assert shown(tracebacks, 0, mixed) == lines
    assert tracebacks.of(0) == traceback("ValueError: loss is NaN")
    assert tracebacks.ended_with(0, lines[-1])


def test_the_traceback_of_a_launcher_does_not_hide_the_programs() -> None:
    tracebacks = Tracebacks()
    shown(tracebacks, 0, traceback("ValueError: loss is NaN"))
    shown(tracebacks, 0, [HEAD, '  File "/x/torch/distributed/run.py", line 9, in run', "a.b.ChildFailedError: "])
    shown(
        tracebacks, 0, ["  traceback : " + HEAD, '    File "train.py", line 1', "  ValueError: loss is NaN", "=" * 60]
    )
    assert tracebacks.of(0) == traceback("ValueError: loss is NaN")


def test_the_traceback_of_an_exception_group_is_whole() -> None:
    tracebacks = Tracebacks()
    plain = traceback("ExceptionGroup: of a TaskGroup (2 sub-exceptions)")
    lines = [f"  + Exception Group {HEAD}", *(f"  | {line}" for line in plain[1:])]
    assert shown(tracebacks, 0, [*lines, "  +-+---------------- 1 ----------------"]) == lines
    assert tracebacks.of(0)[1:] == plain[1:]
    assert tracebacks.of(0)[0].endswith(HEAD)
