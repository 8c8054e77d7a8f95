"""No tenant holds the loop: a look at input that is twice as large takes twice as many steps, and not four times."""

import gc
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from time import thread_time
from types import FrameType, GeneratorType
from typing import Any

import pytest

from muster.state.view.turns import finished
from tests.bounds.rows import ELSEWHERE, HOLD, ROWS, Row

FOLDERS = "watchers/probes", "state/view/recorder"
"""Where everything reads what tenants wrote."""
ROOT = Path(__file__).parents[2] / "muster"
SIZE = 48
TWICE = 2.3
AGAIN = 8
IDLE = 11.0
"""CPU milliseconds of the work of ``pace`` on an idle core. Beside eight busy processes it takes up to 27."""


def steps(look: Callable[[], object]) -> int:
    """How many lines of Python a look executes. It is the same each time, on every machine."""
    counted = 0

    def line(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal counted
        counted += 1
        return line

    before = sys.gettrace()
    sys.settrace(line)
    try:
        found = look()
        if isinstance(found, GeneratorType):
            finished(found)
    finally:
        sys.settrace(before)
    return counted


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_look_is_linear_in_its_input(row: Row) -> None:
    size = min(SIZE, row.most // 2)
    small, large = (steps(row.make(n)) for n in (size, 2 * size))
    assert large <= TWICE * small, f"{small} steps for {size}, {large} for {2 * size}"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_turn_of_a_look_keeps_its_budget_of_cpu_at_the_bound_and_at_twice_as_much(row: Row) -> None:
    assert longest(row, row.most) <= HOLD
    assert longest(row, 2 * row.most) <= HOLD


def longest(row: Row, size: int) -> float:
    """The longest turn in CPU milliseconds of an idle core, the best of few looks; 0 where so much is not let in.

    On a busy machine a millisecond of CPU does less: the look is compared with the work of ``pace`` beside it.
    """
    best = float("inf")
    for _ in range(AGAIN):
        before = pace()
        try:
            took = milliseconds(row, size)
        except ValueError:
            return 0.0
        best = min(best, took / min(before, pace()))
        if best <= HOLD:
            break
    return best


def milliseconds(row: Row, size: int) -> float:
    """The longest turn of a look in CPU milliseconds, the best of three looks.

    What exists before is kept from the garbage collector, as musterd keeps what exists at its start.
    """
    look, best = row.make(size), float("inf")
    gc.freeze()
    try:
        for _ in range(3):
            best = min(best, max(_turns(look)))
    finally:
        gc.unfreeze()
    return 1000 * best


def _turns(look: Callable[[], object]) -> Iterator[float]:
    """Yield the CPU seconds of each turn."""
    began = thread_time()
    found = look()
    if isinstance(found, GeneratorType):
        for _ in found:
            yield thread_time() - began
            began = thread_time()
    yield thread_time() - began


def pace() -> float:
    """How many times as long as on an idle core a fixed piece of work takes just now; at least 1."""
    began = thread_time()
    rows = {f"{n:05}": (n, n % 7) for n in range(20_000)}
    sorted(rows.items(), key=lambda each: (each[1][1], each[0]))
    return max(1.0, 1000 * (thread_time() - began) / IDLE)


def test_a_look_without_turns_is_noticed() -> None:
    row = next(row for row in ROWS if row.name == "jax: list of tasks")
    look = row.make(row.most)
    assert longest(replace(row, make=lambda n: lambda: finished(look())), row.most) > longest(row, row.most)  # type: ignore[arg-type]


def test_a_look_that_is_quadratic_is_noticed() -> None:
    def quadratic(n: int) -> Callable[[], object]:
        def look() -> None:
            for _ in range(n):
                for _ in range(n):
                    pass

        return look

    assert steps(quadratic(96)) > TWICE * steps(quadratic(48))


def test_every_reader_of_what_tenants_wrote_has_a_row() -> None:
    """A new probe or parser comes with its row, or with the reason why it needs none."""
    modules = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for folder in FOLDERS
        for file in (ROOT / folder).rglob("*.py")
        if file.name != "__init__.py"
    }
    covered = {module for row in ROWS for module in row.covers}
    assert modules - covered - ELSEWHERE.keys() == set()
    assert ELSEWHERE.keys() - modules == set()
    assert covered & ELSEWHERE.keys() == set()
    for module in covered:
        assert (ROOT / module.replace(".", "/")).with_suffix(".py").exists(), module
