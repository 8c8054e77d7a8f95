"""Tells the story as Kubernetes Events, beside the steps: an Event is for people and delays nobody's restart."""

import asyncio
from collections.abc import Sequence

import structlog

from muster.kube.transport import Transport
from muster.reconcilers.events import announce
from muster.reconcilers.refs import ExperimentRef
from muster.state.record import StoryLine

log = structlog.get_logger()

WAITING = 10_000
"""Stories that may wait; when an API server is away for long, the oldest are not told (they stay in the status)."""


class EventRecorder:
    """Owns the stories that wait to be told. ``run`` is the one task that tells them."""

    def __init__(self, transport: Transport, instance: str) -> None:
        self._transport = transport
        self._instance = instance
        self._stories: asyncio.Queue[tuple[ExperimentRef, tuple[StoryLine, ...]]] = asyncio.Queue()
        self.dropped = 0

    def tell(self, ref: ExperimentRef, lines: Sequence[StoryLine]) -> None:
        """Have these lines told, in order."""
        if not lines:
            return
        if self._stories.qsize() >= WAITING:
            self._stories.get_nowait()
            self._stories.task_done()
            self.dropped += 1
        self._stories.put_nowait((ref, tuple(lines)))

    async def run(self) -> None:
        """Tell stories until cancelled."""
        while True:
            ref, lines = await self._stories.get()
            try:
                await announce(self._transport, ref, lines, instance=self._instance, report=_report)
            finally:
                self._stories.task_done()

    async def told(self) -> None:
        """Wait until every story so far is told."""
        await self._stories.join()


def _report(line: StoryLine, error: Exception) -> None:
    log.warning("event not written", reason=line.reason, error=str(error))
