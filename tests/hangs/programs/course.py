"""The course of a program: small steps until the gate opens, and then what is played of one rank, or of all.

``python train.py WAY VICTIM FOLDER MINUTE``: the way that is played and the rank that it is played of, the folder of
the gang, and how many seconds a minute of a pause lasts. The gate is a file beside the folder, so that all gangs come
to their way at the same time, once all of them step.
"""

import os
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

from tests.hangs.programs import DONE, GATE, HALTED, STEPS, ways

PACE = 0.5
"""Seconds of a step."""
WAY, VICTIM, FOLDER, MINUTE = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), float(sys.argv[4])
REPORTS = os.environ.get("CHANNEL") in ("report", "endpoint")
RANK = int(os.environ.get("JAXOPERATOR_PROCESS_ID") or os.environ.get("RANK") or os.environ.get("MUSTER_RANK") or 0)
MINE = RANK == VICTIM

numbers = count()
"""The steps of this process."""
_opened = False


def opens() -> bool:
    """Whether the gate is open, once: each later call returns False."""
    global _opened
    if _opened or not (FOLDER.parent / GATE).exists():
        return False
    _opened = True
    return True


def begins() -> None:
    """Write down that the way begins."""
    if MINE:
        print("the way begins", flush=True)
        (FOLDER / HALTED).touch()


def ends() -> None:
    """Write down that the way is over."""
    if MINE:
        (FOLDER / DONE).touch()


def halts() -> None:
    """Begin the way to a halt."""
    begins()
    way: Callable[[], None] = getattr(ways, WAY)
    way()


def next_batch() -> None:
    """The data of a step."""
    time.sleep(PACE)


def step_ends(step: int) -> None:
    """What each step of a training prints."""
    if step % 4 == 0:
        print(f"step {step}", flush=True)
    if step == 4 and MINE:
        (FOLDER / STEPS).touch()


def minutes(number: float) -> float:
    """Seconds of a pause."""
    return number * MINUTE
