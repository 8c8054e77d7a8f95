"""Wait for something to become true of an experiment, by watching it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

from muster.client.errors import NoSuchExperiment, Vanished, WaitTimeout
from muster.client.snapshot import ExperimentChange, Snapshot
from muster.client.until import Until

ASK_AGAIN = 30.0
"""Seconds without a change after which the experiment is read, too."""


class Reader(Protocol):
    """What a wait needs of ``muster.client.Client``."""

    async def get(self, name: str, *, namespace: str | None = None) -> Snapshot:
        """One experiment. Raises ``NoSuchExperiment``."""
        ...

    def watch(self, name: str, *, namespace: str | None = None) -> AsyncGenerator[ExperimentChange, None]:
        """What there is, then every change."""
        ...


async def wait(reader: Reader, seen: Snapshot, goal: Until, timeout: float | None) -> Snapshot:
    """The experiment ``seen`` as soon as ``goal`` holds, or as soon as it no longer can.

    Raises ``WaitTimeout`` after ``timeout`` seconds, ``Vanished`` if it is deleted (unless that is the goal), also
    where another one has its name by then.
    """
    try:
        async with asyncio.timeout(timeout), aclosing(reader.watch(seen.name, namespace=seen.namespace)) as stream:
            while (change := await _next_of(reader, seen, stream)) is not None:
                if change.kind == "DELETED" or change.experiment.uid != seen.uid:
                    break
                seen = change.experiment
                if goal.met(seen) or goal.hopeless(seen):
                    return seen
    except TimeoutError:
        state = seen.message or seen.reason or seen.phase or "musterd has not processed it yet"
        raise WaitTimeout(
            f"experiment {seen.namespace}/{seen.name}: {goal} did not come within {timeout:g} s; it is: {state}"
        ) from None
    if goal.deleted:
        return seen
    raise Vanished(f"experiment {seen.namespace}/{seen.name} was deleted while it was waited for")


async def _next_of(
    reader: Reader, seen: Snapshot, stream: AsyncGenerator[ExperimentChange, None]
) -> ExperimentChange | None:
    """The next change; None if the experiment is gone.

    One that was deleted before the watch began makes no change: it is read while none comes.
    """
    change = asyncio.ensure_future(anext(stream))
    try:
        while not (await asyncio.wait({change}, timeout=ASK_AGAIN))[0]:
            if (await reader.get(seen.name, namespace=seen.namespace)).uid != seen.uid:
                return None
        return change.result()
    except NoSuchExperiment:
        return None
    finally:
        change.cancel()
        await asyncio.gather(change, return_exceptions=True)
