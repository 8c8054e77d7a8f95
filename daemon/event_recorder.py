"""Writes story lines as Kubernetes Events, beside the steps: a slow Event never delays a restart."""

import asyncio
from collections.abc import Callable, Sequence

import structlog

from muster.kube.transport import Transport
from muster.reconcilers.events import emit_events
from muster.reconcilers.refs import ExperimentRef
from muster.state.record import StoryLine

log = structlog.get_logger()

WAITING = 10_000
"""Queued stories; when the API server is away for long, the oldest become no Events (they stay in the status)."""


class EventRecorder:
    """Owns the queued stories. ``run`` is the one task that writes them."""

    def __init__(self, transport: Transport, instance: str, count: Callable[[str], None] = lambda _place: None) -> None:
        """``count`` counts unexpected exceptions by place."""
        self._transport = transport
        self._count = count
        self._instance = instance
        self._stories: asyncio.Queue[tuple[ExperimentRef, tuple[StoryLine, ...]]] = asyncio.Queue()
        self.dropped = 0

    def record(self, ref: ExperimentRef, lines: Sequence[StoryLine]) -> None:
        """Queue these lines, in order."""
        if not lines:
            return
        if self._stories.qsize() >= WAITING:
            self._stories.get_nowait()
            self._stories.task_done()
            self.dropped += 1
        self._stories.put_nowait((ref, tuple(lines)))

    async def run(self) -> None:
        """Write Events until cancelled."""
        while True:
            ref, lines = await self._stories.get()
            try:
                await emit_events(self._transport, ref, lines, instance=self._instance, report=_report)
            except Exception:  # the story of one experiment must not end the Events of all
                log.exception("events not written", namespace=ref.namespace, experiment=ref.name)
                self._count("event")
            finally:
                self._stories.task_done()

    async def flushed(self) -> None:
        """Wait until every queued story is written."""
        await self._stories.join()


def _report(line: StoryLine, error: Exception) -> None:
    log.warning("event not written", reason=line.reason, error=str(error))
