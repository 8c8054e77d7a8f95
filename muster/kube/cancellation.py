"""Ends tasks: cancels them, and waits until each has ended."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any


async def cancel_and_wait(*tasks: "asyncio.Future[Any] | None") -> list[Any]:
    """Cancel the tasks that there are, wait for their ends, and return their results and exceptions.

    A caller that is cancelled meanwhile waits for their ends, too.
    """
    ending = [task for task in tasks if task is not None]
    for task in ending:
        task.cancel()
    return await asyncio.gather(*ending, return_exceptions=True)


def mark_seen(task: "asyncio.Future[Any]") -> None:
    """Mark the error of a task that has ended as seen, because its reader learns of it in another way."""
    if not task.cancelled():
        task.exception()


@asynccontextmanager
async def cancelling(*tasks: "asyncio.Future[Any]") -> AsyncIterator[None]:
    """End the tasks at the end of the context, as ``contextlib.aclosing`` closes a generator."""
    try:
        yield
    finally:
        await cancel_and_wait(*tasks)
