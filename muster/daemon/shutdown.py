"""Shutdown in named stages, each with its own share of time.

A stage that overruns is named in the log, and the next one starts anyway.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

import structlog

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a shutdown; ``timeout`` in seconds."""

    name: str
    timeout: float
    end: Callable[[], Awaitable[None]]


async def shut_down(stages: Iterable[Stage]) -> list[str]:
    """Go through the stages in order; the names of those that did not end in time or failed."""
    late = []
    for stage in stages:
        try:
            async with asyncio.timeout(stage.timeout):
                await stage.end()
        except TimeoutError:
            running = sorted(task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task())
            log.error(  # noqa: TRY400 - where it was cancelled says nothing; which tasks still run does
                "shutdown stage overran", stage=stage.name, seconds=stage.timeout, running=running
            )
            late.append(stage.name)
        except Exception:  # the later stages must have their turn
            log.exception("shutdown stage failed", stage=stage.name)
            late.append(stage.name)
    return late


async def end_tasks(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel tasks and wait for their ends."""
    ending = list(tasks)
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)
