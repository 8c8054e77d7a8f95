"""The tracebacks of an epoch: the first is shown whole, of the others the last line; the last of a rank is kept."""

from muster.cli.processes.tracebacks import HEAD, LONGEST, SHOWN, Tracebacks


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
    lines = [shown(tracebacks, 1, traceback("KeyError: 'x'")) for _ in range(SHOWN + 5)]
    assert sum(map(len, lines)) == len(traceback("")) + SHOWN - 1


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
    assert tracebacks.of(1) == lines[-LONGEST:]


def test_an_empty_line_does_not_end_a_traceback() -> None:
    tracebacks = Tracebacks()
    lines = [HEAD, '  File "train.py", line 1', "", "ValueError: loss is NaN"]
    assert shown(tracebacks, 1, lines) == lines
