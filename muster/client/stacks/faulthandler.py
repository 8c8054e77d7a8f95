"""Reads what ``faulthandler`` writes (cpython: Python/traceback.c, _Py_DumpTracebackThreads).

Its text was written by the process that is looked at, so every line of it may be anything.
"""

import re
from collections.abc import Iterator

from muster.client.stacks.frames import Frame, ThreadStack

MOST_THREADS = 256
MOST_FRAMES = 512
"""More are not read; faulthandler itself writes 100 of each."""

_THREAD = re.compile(r"(Current thread|Thread) 0x([0-9a-fA-F]{1,16})(?: \[(.*)\])? \(most recent call first\):")
_FRAME = re.compile(r'  File (?:"(.*)"|\?\?\?), line (\d{1,9}|\?\?\?) in (.*)')


def read_faulthandler(text: str, main: int | None = None) -> tuple[ThreadStack, ...]:
    """The threads in the order of the text. ``main`` is the identity of the main thread, where it is known."""
    return tuple(_threads(text, main))


def _threads(text: str, main: int | None) -> Iterator[ThreadStack]:
    head: re.Match[str] | None = None
    frames: list[Frame] = []
    seen = 0
    for line in text.splitlines():
        if found := _THREAD.fullmatch(line):
            if head:
                yield _thread(head, frames, main)
            seen += 1
            if seen > MOST_THREADS:
                return
            head, frames = found, []
        elif head and len(frames) < MOST_FRAMES and (call := _FRAME.fullmatch(line)):
            frames.append(Frame(call[3], call[1] or "???", 0 if call[2] == "???" else int(call[2])))
    if head:
        yield _thread(head, frames, main)


def _thread(head: re.Match[str], frames: list[Frame], main: int | None) -> ThreadStack:
    identity = int(head[2], 16)
    is_main = identity == main if main is not None else head[1] == "Current thread"  # signals go to the main thread
    return ThreadStack(head[3] or f"0x{identity:x}", is_main, tuple(frames))
