"""The loop of a training, whatever its framework is: the gate opens for all ranks at the same step."""

import sys
from collections.abc import Callable
from itertools import count

from tests.hangs.programs import course, healthy

REPORT = Callable[[int], None]


def train(exchange: Callable[[bool], bool], meet: Callable[[], None], report: REPORT) -> None:
    """Train forever, or until the way is over where the training ends with it.

    ``exchange`` is the collective of a step: whether any rank has given True.
    """
    played: Callable[[healthy.Here], None] | None = getattr(healthy, course.WAY, None)
    steps = count()

    def step(halts: bool = False) -> bool:
        course.next_batch()
        if halts:
            course.halts()
        number = next(steps)
        report(number)
        opened = exchange(course.opens())
        course.step_ends(number)
        return opened

    def one_step() -> None:
        step()

    here = healthy.Here(meet, one_step)
    if played is not None and course.WAY in healthy.FIRST:
        course.begins()
        played(here)
        played = healthy.steps_on
    while not step():
        pass
    if played is None:
        step(halts=course.MINE)
    elif course.WAY not in healthy.BEFORE:
        course.begins()
    if course.WAY in healthy.LAST:
        healthy.LAST[course.WAY]()
        sys.exit(0)
    if played is not None and course.WAY not in healthy.BEFORE:
        played(here)
    course.ends()
    while True:
        step()


def before() -> None:
    """What comes before the ranks meet."""
    if course.WAY in healthy.BEFORE:
        course.begins()
        healthy.BEFORE[course.WAY]()
