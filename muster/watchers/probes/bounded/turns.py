"""Does work in turns on the event loop (``state.view.turns``)."""

import asyncio
from typing import TypeVar

from muster.state.view.turns import Turns

T = TypeVar("T")


async def in_turns(work: Turns[T]) -> T:
    """The result of the work; whatever else is due runs between two of its turns."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: T = end.value
            return result
        await asyncio.sleep(0)
