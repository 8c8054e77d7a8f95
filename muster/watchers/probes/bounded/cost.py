"""The CPU time that the probes of one coordinator take, so that it can be asked less often the more its answers cost.

A grant bounds what an answer has, and a large gang's answer is large: 16,384 ranks take 39 ms of CPU to decode. What
counts is the share of the daemon's time, whatever a byte of an answer costs. The steps of a coroutine are measured, in
the task that asks and in the tasks that it starts; what other tasks do between two steps is not.

A decoder makes an object of each part, in one piece, and a megabyte of ``[],[],`` has 350,000 of them: 60 ms of CPU. So
the parts of a JSON document are bounded before it is decoded: commas and brackets are counted as bytes, which takes
1 ms a megabyte. Those inside of texts count, too.

What is long is done in turns on the event loop (``state.view.turns``).
"""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextvars import ContextVar
from types import coroutine
from typing import Any, Final, TypeVar

from muster.state.view.turns import Turns

T = TypeVar("T")

SHARE = 0.02
"""Of a core, for one coordinator."""
LONGEST = 4.0
"""Seconds that a coordinator waits for its share at most, beside the pause that it has anyway. One that dies is known
within ten, and no answer that is granted takes more than 0.1 s: what took longer was a pause of the interpreter."""

_meter: ContextVar["Meter | None"] = ContextVar("meter", default=None)


def loop_time() -> float:
    """Return the monotonic seconds of the event loop."""
    return asyncio.get_running_loop().time()


class Meter:
    """Adds up the time that one coordinator has cost; ``cpu`` is a clock of this thread's CPU seconds."""

    def __init__(self, cpu: Callable[[], float]) -> None:
        self.cpu = cpu
        self._due = 0.0

    def start(self) -> None:
        """Measure what runs as ``metered`` in this task, and in those that it starts from now on."""
        _meter.set(self)

    def add(self, seconds: float) -> None:
        """Add so many CPU seconds."""
        self._due = max(self._due, loop_time()) + seconds / SHARE

    def owed(self) -> float:
        """Return seconds until the coordinator has no more than its share."""
        return min(LONGEST, max(0.0, self._due - loop_time()))


@coroutine
def metered(work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
    """Return the result of ``work``, whose steps the meter of this task measures."""
    meter = _meter.get()
    if meter is None:
        result: T = yield from work
        return result
    step: Callable[[Any], Any] = work.send
    given: Any = None
    while True:
        began = meter.cpu()
        try:
            wanted = step(given)
        except StopIteration as end:
            result = end.value
            return result
        finally:
            meter.add(meter.cpu() - began)
        try:
            given, step = (yield wanted), work.send
        except BaseException as error:  # noqa: BLE001  # whatever is thrown in goes to the work
            given, step = error, work.throw


MOST_PARTS: Final = 80_000
"""Of a document whose parts are all kept. An answer of NCCL's RAS for 3,500 ranks has 63,000."""


def parts_of(document: bytes | bytearray) -> int:
    """Return how many parts the document has, or more."""
    return document.count(b",") + document.count(b"{") + document.count(b"[")


async def in_turns(work: Turns[T]) -> T:
    """Return the result of the work; whatever else is due runs between two of its turns."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: T = end.value
            return result
        await asyncio.sleep(0)
