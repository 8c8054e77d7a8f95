"""The protocol between a program and the daemon about the places of ranks: names and bounds.

A process of a jax gang writes the place of its program under ``PLACES/<rank>`` into the key-value store of jax's
coordination service (``muster.assist.mounted.place_watch``), over the value before, and the probe reads all of them in
one call. Each value is a JSON object::

    {"at": 512.2, "since": 470.1, "longest": 2.0, "returns": 3, "in": "next", "file": "data.py", "line": 41,
     "stack": "8c736521", "worked": 471.0, "how": "computing", "alone": 1, "pause": 600.0, "processes": 4}

``at`` and ``since`` are the program's own monotonic clock: the innermost call has not returned from one to the other.
``longest`` is its longest standstill in its loop, ``returns`` how often the program was seen to come back to a place,
up to ``RETURNS``. ``stack`` is equal for equal stacks. ``worked`` is when the process was last seen at work, and
``how`` one of ``WORK``. ``alone`` is 1 while it waits in the kernel, and for no other rank.
``pause`` are the seconds of a pause that the program has announced, and that is not over. ``processes`` is the number
that the program has joined with: jax compares it with no other rank's. Under ``STACKS/<rank>`` a rank that has not
moved for ``NOTICE`` seconds has its stack: a list of function, file and line, the innermost call first.
"""

from muster.assist.mounted.at_work import COMPUTING, MOVING, READING, WRITING
from muster.assist.mounted.at_work import INPUT as INPUT
from muster.assist.mounted.place_watch import MAX_FILE as MAX_FILE
from muster.assist.mounted.place_watch import MAX_FRAMES as MAX_FRAMES
from muster.assist.mounted.place_watch import MAX_NAME as MAX_NAME
from muster.assist.mounted.place_watch import MAX_STACK as MAX_STACK
from muster.assist.mounted.place_watch import NOTICE as NOTICE
from muster.assist.mounted.place_watch import PLACES as PLACES
from muster.assist.mounted.place_watch import RETURNS as RETURNS
from muster.assist.mounted.place_watch import STACKS as STACKS
from muster.assist.mounted.place_watch import longest_interval as longest_interval
from muster.assist.mounted.place_watch import place_interval as place_interval

WORK = COMPUTING, WRITING, READING, MOVING, INPUT
"""Kinds of work of a process; with ``INPUT`` it waits for a person to type."""
MAX_VALUE = 640
"""Bytes of one rank's value."""


def located(function: str, file: str, line: int) -> str:
    """Return ``in next (data.py:41)``, or ``at train.py:19`` for a line outside of all functions."""
    return f"at {file}:{line}" if function == "<module>" else f"in {function} ({file}:{line})"
