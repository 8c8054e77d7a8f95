"""Writes story lines as Kubernetes Events, beside the steps: a slow Event never delays a restart.

Each namespace has a queue and, while that is not empty, a task of its own: an admission webhook that delays the Events
of one namespace delays those of no other.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

import structlog

from muster.kube.fair_share import FairShare
from muster.kube.transport import Transport
from muster.reconcilers.events import emit_events
from muster.reconcilers.refs import ExperimentRef
from muster.state.vocabulary.record import StoryLine

log = structlog.get_logger()

WAITING = 1_000
"""Most queued stories of a namespace. While the API server is away for long, the oldest are dropped (the status keeps
them)."""

FLOW = "events"
"""The name of a namespace's Events among the flows that share requests."""


class EventRecorder:
    """The owner of the queued stories. ``run`` starts one writing task for each namespace, and ends with them."""

    def __init__(
        self,
        transport: Transport,
        share: FairShare,
        instance: str,
        count: Callable[[str], None] = lambda _place: None,
    ) -> None:
        """``count`` counts unexpected exceptions by place."""
        self._transport = transport
        self._share = share
        self._count = count
        self._instance = instance
        self._stories: dict[str, deque[tuple[ExperimentRef, tuple[StoryLine, ...]]]] = {}
        """Queued stories by namespace. While ``run`` runs, each namespace has a task."""
        self._begun = asyncio.Queue[str]()
        """Namespaces that need a task."""
        self._left = 0
        self._done = asyncio.Event()
        """Set while no story is left."""
        self._done.set()
        self.dropped = 0

    def record(self, ref: ExperimentRef, lines: Sequence[StoryLine]) -> None:
        """Queue these lines, in order."""
        if not lines:
            return
        stories = self._stories.get(ref.namespace)
        if stories is None:
            stories = self._stories[ref.namespace] = deque()
            self._begun.put_nowait(ref.namespace)
        if len(stories) >= WAITING:
            stories.popleft()
            self._forget_one()
            self.dropped += 1
        stories.append((ref, tuple(lines)))
        self._left += 1
        self._done.clear()

    async def run(self) -> None:
        """Write Events until cancelled."""
        while not self._begun.empty():
            self._begun.get_nowait()
        for namespace in self._stories:  # an earlier run may have been cancelled
            self._begun.put_nowait(namespace)
        async with asyncio.TaskGroup() as tasks:
            while True:
                namespace = await self._begun.get()
                tasks.create_task(self._write(namespace), name=f"events of {namespace}")

    async def write(self, ref: ExperimentRef, lines: Sequence[StoryLine]) -> None:
        """Write these lines at once, because a later change is to be read after them. Failures are logged."""
        async with self._share.of(ref.namespace, FLOW):
            await emit_events(self._transport, ref, lines, instance=self._instance, report=_report)

    async def flushed(self) -> None:
        """Wait until every queued story is written."""
        await self._done.wait()

    async def _write(self, namespace: str) -> None:
        stories = self._stories[namespace]
        while stories:
            ref, lines = stories.popleft()
            try:
                async with self._share.of(namespace, FLOW):
                    await emit_events(self._transport, ref, lines, instance=self._instance, report=_report)
            except Exception:  # the story of one experiment must not end the Events of all
                log.exception("events not written", namespace=ref.namespace, experiment=ref.name)
                self._count("event")
            finally:
                self._forget_one()
        del self._stories[namespace]

    def _forget_one(self) -> None:
        self._left -= 1
        if not self._left:
            self._done.set()


def _report(line: StoryLine, error: Exception) -> None:
    log.warning("event not written", reason=line.reason, error=str(error))
