"""The tasks of the daemon: which run always, which only while it leads, and in which order they end; and its take-over.

The app defines the work of the tasks (its methods of the same names). A task that fails ends the daemon.

Shutdown goes in named stages, each with its own share of time. A stage that overruns is named in the log, and the next
one starts anyway.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

import structlog

from muster.api.errors import ApiError, NotFound
from muster.daemon.event_recorder import EventRecorder
from muster.daemon.experiments.error_boundary import ErrorBoundary
from muster.daemon.experiments.index import ExperimentIndex
from muster.daemon.informers import in_namespace
from muster.daemon.prober_pool import ProberPool
from muster.daemon.settings import Settings
from muster.kube.cancellation import cancel_and_wait
from muster.kube.leaderelection.elector import Elector
from muster.kube.leaderelection.lease import Leases
from muster.kube.leaderelection.rules import Terms
from muster.kube.listwatch.decoder import ObjectList, Projection
from muster.kube.listwatch.sink_feed import list_all
from muster.kube.transport import Transport
from muster.kube.workqueue import WorkQueue
from muster.watchers import experiments
from muster.watchers.experiments import ExperimentRecord

log = structlog.get_logger()


Source = tuple[str, Projection[Any, ExperimentRecord]]
"""One kind's list: its path for all namespaces, and its decoder."""


async def list_latest(
    transport: Transport, sources: Iterable[Source], settings: Settings, sleep: Callable[[float], Awaitable[object]]
) -> ObjectList[ExperimentRecord]:
    """Return all objects of these kinds as the API server has them now. Retries until it answers.

    A kind that is no longer served has none.
    """
    found = ObjectList[ExperimentRecord]({}, 0, [])
    for everywhere, decoder in sources:
        path = in_namespace(settings.namespace, everywhere)
        while True:
            try:
                listed = await list_all(transport, path, {}, decoder, page_size=500, timeout=settings.renew_deadline)
            except ApiError as error:
                if isinstance(error, NotFound) and everywhere != experiments.PATH:
                    break
                log.warning("cannot be listed, retrying before the first decision", path=path, error=str(error))
                await sleep(settings.retry_period)
            else:
                found.objects.update(listed.objects)
                break
    return found


def take_over(
    index: ExperimentIndex, boundary: ErrorBoundary, queue: WorkQueue, latest: ObjectList[ExperimentRecord]
) -> None:
    """Reset what an earlier leadership learned, take in the ``latest`` records, and requeue every experiment.

    A standby's caches are warm but may lag, and a daemon that leads again remembers what it knew before another led. A
    step that writes the status would fail on a stale record, but a step that has nothing to write continues with its
    actions at once. So, before the first step:

    ``entry.record``
        One consistent LIST of Experiments brings the latest record of each, above all those the previous leader wrote.
        On an older one a step could delete the pods of the newest epoch as leftovers. If the watch is ahead of the list
        already, or the record is that of our own last write, nothing changes. This is read-your-own-writes with "own"
        meaning: of every earlier leader.
    ``view.engine``
        ``EngineFacts.reset`` forgets the live API's answers to an earlier leadership. The epoch may have been launched,
        lost members or been swept since, and a quota may have been raised: the API is asked again (two requests for an
        experiment that still has something to launch).
    ``view.probe``
        The last answer may be hours old, and the coordinator's silence would be counted from then. The next probe comes
        within a second. Reports that programs sent went to the other leader meanwhile, so theirs are forgotten, too.
    queue
        Its back-offs, timers and waiting times belong to the earlier leadership. Every experiment is requeued.

    Pods are not listed again. A cache that lacks the newest pods can only ask for a launch or a loss to be confirmed,
    which reads them live and lets the next step wait until the cache has come that far; a pod it still holds is deleted
    by uid; and if it is older than the record that the other leader wrote, the step reads the live API first.
    ``freshness.pods_due`` and ``engine.service`` stay: the first is about the cache, the second is kept by a watch.
    """
    changed = boundary.around(index.experiment_changed)
    for entry in list(index):
        view, seen = entry.view, entry.seen
        view.engine.reset()
        view.take_over()
        entry.step = 0.0  # the record is of another leader's clock
        now = latest.objects.get(seen.uid)
        if now is not None and now.resource_version > seen.resource_version:
            changed(seen, now)
        queue.forget(seen.uid)
        queue.add(seen.uid)
    for uid in index.orphaned():
        queue.add(uid)
    for uid in boundary.damaged:
        queue.add(uid)


def elector_of(
    settings: Settings,
    transport: Transport,
    instance: str,
    *,
    clock: Callable[[], float],
    monotonic: Callable[[], float],
    random: Random,
) -> Elector | None:
    """Return the elector that the settings ask for, if any. Two lives of one ``instance`` are two candidates."""
    if not settings.leader_elect:
        return None
    host = f"[{settings.pod_address}]" if ":" in settings.pod_address else settings.pod_address
    ports = settings.http_port, settings.progress_port
    address = ",".join(f"{host}:{port}" if port else "" for port in ports) if host else ""
    return Elector(
        Leases(transport, settings.lease_namespace or "default", settings.lease_name, clock, address),
        f"{instance}_{random.getrandbits(64):016x}",
        Terms(settings.lease_duration, settings.renew_deadline, settings.retry_period),
        monotonic=monotonic,
        random=random,
    )


async def shut_down(stages: Mapping[str, Callable[[], Awaitable[object]]], seconds: float) -> list[str]:
    """Go through the stages in order, each for so many seconds. Return the names of those that were late or failed."""
    late = []
    for name, end in stages.items():
        try:
            async with asyncio.timeout(seconds):
                await end()
        except TimeoutError:
            running = sorted(task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task())
            log.error(  # noqa: TRY400 - the tasks that still run matter, not the cancelled line
                "shutdown stage overran", stage=name, seconds=seconds, running=running
            )
            late.append(name)
        except Exception:  # the later stages must have their turn
            log.exception("shutdown stage failed", stage=name)
            late.append(name)
    return late


Work = Coroutine[Any, Any, None]


class _Duties(Protocol):
    elector: Elector | None
    queue: WorkQueue
    recorder: EventRecorder
    probers: ProberPool

    def watches(self) -> Mapping[str, Work]: ...

    def others(self) -> Mapping[str, Work]: ...

    def steps(self) -> Work: ...

    async def latest(self) -> ObjectList[ExperimentRecord]: ...

    def take_over(self, latest: ObjectList[ExperimentRecord]) -> None: ...

    def stand_by(self) -> None: ...


@dataclass(eq=False)
class Tasks:
    """The runner of the ``duties``. Without an elector this daemon always leads."""

    duties: _Duties
    shutdown_timeout: float
    synced: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the first full lists have arrived."""
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _watches: list[asyncio.Task[None]] = field(default_factory=list)
    _workers: list[asyncio.Task[None]] = field(default_factory=list)
    _announcing: list[asyncio.Task[None]] = field(default_factory=list)
    _others: list[asyncio.Task[None]] = field(default_factory=list)

    def stop(self) -> None:
        """Ask ``run`` to end."""
        self._stop.set()

    async def run(self) -> bool:
        """Run until stopped. Return False if a part failed or did not end in time."""
        self._start()
        stopping = asyncio.create_task(self._stop.wait(), name="stop")
        tasks = [*self._watches, *self._workers, *self._announcing, *self._others]
        try:
            await asyncio.wait([stopping, *tasks], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            failed = [task for task in tasks if task.done() and not task.cancelled()]
            for task in failed:
                log.critical("task exited unexpectedly", task=task.get_name(), exc_info=task.exception())
            late = await self._end()
        return not failed and not late

    def _start(self) -> None:
        for name, watch in self.duties.watches().items():
            self._watches.append(asyncio.create_task(watch, name=name))
        if self.duties.elector is None:
            self._start_writers()
        else:
            self._others.append(asyncio.create_task(self._elect(self.duties.elector), name="election"))
        for name, other in self.duties.others().items():
            self._others.append(asyncio.create_task(other, name=name))

    def _start_writers(self) -> None:
        self._workers.append(asyncio.create_task(self.duties.steps(), name="steps"))
        self._announcing.append(asyncio.create_task(self.duties.recorder.run(), name="recorder"))

    async def _elect(self, elector: Elector) -> None:
        """Take part in the election once the first full lists have arrived."""
        await self.synced.wait()
        await elector.run(self._lead)

    async def _lead(self) -> None:
        """Run everything that only the leader does, until cancelled."""
        try:
            latest = await self.duties.latest()
            if not self._stop.is_set():
                self.duties.take_over(latest)
                self._start_writers()
                await asyncio.wait([*self._workers, *self._announcing], return_when=asyncio.FIRST_COMPLETED)
            if self._stop.is_set():
                await asyncio.Event().wait()  # the shutdown stages end the writers, and then this task
            for writer in (*self._workers, *self._announcing):
                if writer.done():
                    writer.result()
        finally:
            await cancel_and_wait(*self._workers, *self._announcing)
            self._workers.clear()
            self._announcing.clear()
            await self.duties.probers.close()
            self.duties.stand_by()

    async def _end(self) -> list[str]:
        """End the writers, then release the Lease, then end what only reads.

        In another order a decision could use caches that are being closed.
        """
        self._stop.set()
        self.duties.queue.close()
        stages = {
            "end the steps": lambda: cancel_and_wait(*self._workers),
            "write the remaining Events": self._flush,
            "end the probes": self.duties.probers.close,
            "hand over": self._hand_over,
            "end the watches": lambda: cancel_and_wait(*self._watches, *self._announcing, *self._others),
        }
        return await shut_down(stages, self.shutdown_timeout / len(stages))

    async def _flush(self) -> None:
        """Write the queued Events. Those of a standby, or after a lost leadership, stay in the status only."""
        if self._announcing:
            flushing = asyncio.create_task(self.duties.recorder.flushed(), name="events flushed")
            await asyncio.wait([flushing, *self._announcing], return_when=asyncio.FIRST_COMPLETED)
            await cancel_and_wait(flushing)

    async def _hand_over(self) -> None:
        if self.duties.elector is not None:
            await cancel_and_wait(*(task for task in self._others if task.get_name() == "election"))
            await self.duties.elector.resign()
