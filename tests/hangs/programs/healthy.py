"""What a healthy gang does beside its steps: one rank, or all of them, make no step for a while and hang in nothing.

``here`` is the gang as its framework has it. What is in ``FIRST`` comes before the first step, what is in ``BEFORE``
before the gang has met, and all else once the gate is open.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module

from tests.hangs.programs.course import FOLDER, MINE, RANK, minutes
from tests.hangs.programs.pauses import (
    answer,
    compile_shapes,
    download,
    evaluate,
    kernel_waits,
    read_rows,
    write_checkpoint,
)

CHECKPOINT = FOLDER / f"checkpoint.{RANK}"
ROWS = FOLDER / f"rows.{RANK}"


@dataclass(frozen=True, slots=True)
class Here:
    """A gang: a barrier of its ranks, a step of its training, and a report of the step it is at."""

    meet: Callable[[], None]
    step: Callable[[], None]


def steps(here: Here, number: int = 10) -> None:
    for _ in range(number):
        here.step()


def steps_on(here: Here) -> None:
    """Nothing but steps."""


def evaluation(here: Here) -> None:
    """One rank evaluates for five minutes, the others wait in a barrier."""
    if MINE:
        evaluate(minutes(5))
    here.meet()


def evaluation_of_all(here: Here) -> None:
    """Every rank evaluates its own part; nobody waits."""
    evaluate(minutes(3))
    here.meet()


def checkpoint(here: Here) -> None:
    """One rank writes for three minutes and has announced nothing."""
    if MINE:
        write_checkpoint(minutes(3), CHECKPOINT)
    here.meet()


def growing_checkpoints(here: Here) -> None:
    """Each takes three times as long as the one before."""
    for number in (0.1, 0.3, 0.9, 2.7):
        if MINE:
            write_checkpoint(minutes(number), CHECKPOINT)
        here.meet()
        steps(here)


def uneven_data(here: Here) -> None:
    """The rows of some steps take one rank far longer to read."""
    for number in (0.1, 1.0, 0.2, 2.0):
        if MINE:
            read_rows(minutes(number), ROWS)
        steps(here)


def accumulation(here: Here) -> None:
    """Gradients are added up for a minute and more before the ranks exchange them."""
    for number in (1.2, 1.2, 1.5):
        evaluate(minutes(number))
        here.step()


def recompilation(here: Here) -> None:
    """New shapes are compiled, of one rank more than of the others."""
    compile_shapes(minutes(2 if MINE else 0.3))
    here.meet()


def notebook(here: Here) -> None:
    """All ranks wait for the next cell, in the same line."""
    kernel_waits(minutes(5))
    here.meet()


def notebook_of_one(here: Here) -> None:
    """A person types in one rank, which sends its cells to the others: these wait elsewhere, and in no collective."""
    if MINE:
        kernel_waits(minutes(5))
    else:
        answer(minutes(5))
    here.meet()


def announced(by: str, work: Callable[[float], object]) -> Callable[[Here], None]:
    """Work of three minutes that is announced by the name which that module has for it."""

    def announces(here: Here) -> None:
        module = import_module(by)
        pause: Callable[[float], AbstractContextManager[None]] = getattr(module, "reports", module).pause
        if MINE:
            with pause(600):
                work(minutes(3))
        here.meet()

    return announces


def writes(seconds: float) -> None:
    write_checkpoint(seconds, CHECKPOINT)


announced_by_muster = announced("muster", writes)
announced_by_jax = announced("muster.jax", writes)
announced_by_torch = announced("muster.torch", writes)
announced_by_programs = announced("muster.programs", writes)
announced_upload = announced("muster", answer)
"""The rank waits in one call for a server that has taken the checkpoint."""


def warm_up(here: Here) -> None:
    """One loader reads for two minutes before it has its first batch."""
    if MINE:
        read_rows(minutes(2), ROWS)
    here.meet()


def fetch_by_one(here: Here) -> None:
    """One rank downloads what all of them need."""
    if MINE:
        download(minutes(2))
    here.meet()


def fetch_by_all() -> None:
    """Every rank downloads before it joins, one for longer."""
    download(minutes(2 if MINE else 0.5))


def last_checkpoint() -> None:
    """The training is over, and one rank writes its result."""
    if MINE:
        write_checkpoint(minutes(2), CHECKPOINT)


FIRST = {"warm_up", "fetch_by_one"}
BEFORE = {"fetch_by_all": fetch_by_all}
LAST = {"last_checkpoint": last_checkpoint}
