"""The wait for an answer that a probe of a real process gives."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from muster.state.view.roll import RollAnswer


class Probe(Protocol):
    """The methods that both kinds of probe have."""

    async def snapshot(self) -> RollAnswer: ...


async def until(probe: Probe, wanted: Callable[[RollAnswer], bool]) -> RollAnswer:
    """Take snapshots until one fulfils the condition."""
    async with asyncio.timeout(60):
        while True:
            answer = await probe.snapshot()
            if wanted(answer):
                return answer
            await asyncio.sleep(0.05)
