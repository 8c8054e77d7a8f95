"""The bare loop: as many requests at a time as Muster allows itself, and nothing else."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

IN_FLIGHT = 32
Item = TypeVar("Item")


async def each(items: Iterable[Item], do: Callable[[Item], Awaitable[object]], at_once: int = IN_FLIGHT) -> None:
    """Call ``do`` for every item, ``at_once`` at a time."""
    queue = iter(items)

    async def worker() -> None:
        for item in queue:
            await do(item)

    async with asyncio.TaskGroup() as workers:
        for number in range(at_once):
            workers.create_task(worker(), name=f"loop ({number})")
