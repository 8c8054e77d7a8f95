"""Writes story lines as Kubernetes Events, beside the steps: a slow Event never delays a restart.

Each namespace has a queue and, while that is not empty, a task of its own: an admission webhook that delays the Events
of one namespace delays those of no other.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import structlog

from muster.kube.fair_share import FairShare
from muster.kube.transport import Transport
from muster.reconcilers.refs import ExperimentRef
from muster.reconcilers.status import emit_events
from muster.state.vocabulary.record import StoryLine

log = structlog.get_logger()

WAITING = 1_000
"""Most queued stories of a namespace. While its Events are not taken for long, the oldest are dropped (the log has
them)."""

FLOW = "events"
"""The name of a namespace's Events among the flows that share requests."""


@dataclass(eq=False)
class EventRecorder:
    """The owner of the queued stories. ``run`` starts one writing task for each namespace, and ends with them."""

    transport: Transport
    share: FairShare
    instance: str
    count: Callable[[str], None] = lambda _place: None
    """Counts unexpected exceptions by place."""
    _stories: dict[str, deque[tuple[ExperimentRef, tuple[StoryLine, ...]]]] = field(default_factory=dict)
    """Queued stories by namespace. While ``run`` runs, each namespace has a task."""
    _begun: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    """Namespaces that need a task."""
    _left: int = 0

    def __post_init__(self) -> None:
        self._done = asyncio.Event()
        """Set while no story is left."""
        self._done.set()

    def record(self, ref: ExperimentRef, lines: Sequence[StoryLine]) -> None:
        """Queue these lines, in order."""
        if not lines:
            return
        stories = self._stories.get(ref.namespace)
        if stories is None:
            stories = self._stories[ref.namespace] = deque()
            self._begun.put_nowait(ref.namespace)
        if len(stories) >= WAITING:
            dropped, unsent = stories.popleft()
            for line in unsent:
                _report(dropped, line, f"{WAITING} newer ones of its namespace wait")
            self._forget_one()
        stories.append((ref, tuple(lines)))
        self._left += 1
        self._done.clear()

    async def run(self) -> None:
        """Write Events until cancelled."""
        self._begun = asyncio.Queue()
        for namespace in self._stories:  # an earlier run may have been cancelled
            self._begun.put_nowait(namespace)
        async with asyncio.TaskGroup() as tasks:
            while True:
                namespace = await self._begun.get()
                tasks.create_task(self._write(namespace), name=f"events of {namespace}")

    async def write(self, ref: ExperimentRef, lines: Sequence[StoryLine]) -> None:
        """Write these lines at once, because a later change is to be read after them. Failures are logged."""
        async with self.share.of(ref.namespace, FLOW):
            await emit_events(self.transport, ref, lines, instance=self.instance, report=partial(_report, ref))

    async def flushed(self) -> None:
        """Wait until every queued story is written."""
        await self._done.wait()

    async def _write(self, namespace: str) -> None:
        stories = self._stories[namespace]
        while stories:
            ref, lines = stories.popleft()
            try:
                await self.write(ref, lines)
            except Exception:  # the story of one experiment must not end the Events of all
                log.exception("events not written", namespace=ref.namespace, kind=ref.subject.kind, name=ref.name)
                self.count("event")
            finally:
                self._forget_one()
        del self._stories[namespace]

    def _forget_one(self) -> None:
        self._left -= 1
        if not self._left:
            self._done.set()


def _report(ref: ExperimentRef, line: StoryLine, error: Exception | str) -> None:
    which = {"namespace": ref.namespace, "kind": ref.subject.kind, "name": ref.name, "uid": ref.uid}
    log.warning("event not written", **which, reason=line.reason, error=str(error))
