"""Line about what a command waits for, once the wait is long enough to be noticed."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from muster.api.values.durations import age
from muster.api.values.printable import printable
from muster.cli.terminal.colours import say
from muster.kube.cancellation import cancelling

T = TypeVar("T")

QUIET = 2.0
"""Seconds of a wait without a message."""
AGAIN = 10.0
LONGEST = 300.0
"""Seconds until the second line, and between two lines at most; each pause is twice the one before."""


async def patient(work: Awaitable[T], what: str, done: Callable[[], str] = str) -> T:
    """Return the result of ``work``; a wait is named on standard error after 2 s, and then now and again.

    ``done`` adds how far it is.
    """
    began = time.monotonic()
    task = asyncio.ensure_future(work)
    task.set_name(what)
    pause = QUIET
    async with cancelling(task):
        while not (await asyncio.wait({task}, timeout=pause))[0]:
            pause = min(max(AGAIN, 2 * pause), LONGEST)
            how_far = f": {done()}" if done() else ""
            say(printable(f"still {what}, {age(time.monotonic() - began)}{how_far}"))
        return task.result()


async def first_of(**works: Coroutine[Any, Any, object]) -> None:
    """Wait until one of these, by the names of their tasks, has ended; raise what it raised, and cancel the others."""
    tasks = [asyncio.create_task(work, name=name) for name, work in works.items()]
    async with cancelling(*tasks):
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
