"""The composition root: every part of the daemon, and every task it runs, in one place.

The parts do not know each other; ``__init__``, read from top to bottom, shows how data goes round.
Clock, randomness and sleep come from outside, and the API server is reached through ``Transport`` alone, so the whole
daemon runs unmodified in a simulated world.

Watches always run. The queue with its steps, the event recorder and the probers run too; with leader election they
run only while this daemon leads, and their writes pass a fence (``muster.kube.leaderelection``).
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from random import Random
from typing import Any

import structlog

from muster.api.errors import ApiError
from muster.daemon.event_recorder import EventRecorder
from muster.daemon.experiments.error_border import ErrorBorder
from muster.daemon.experiments.index import ExperimentIndex
from muster.daemon.informers import Informers, Times, in_namespace
from muster.daemon.loop_lag import LoopLagMonitor
from muster.daemon.prober_pool import Prober, ProberPool, prober_of
from muster.daemon.settings import Settings
from muster.daemon.shutdown import Stage, end_tasks, shut_down
from muster.daemon.steps.controller import Controller
from muster.daemon.takeover import stand_by, take_over
from muster.daemon.wall_clock import TICK, WallClock
from muster.daemon.web.health import DaemonHealth
from muster.kube.denials import Denials
from muster.kube.fair_share import ALONE, FairShare
from muster.kube.instrumented import MeasuredTransport, labels
from muster.kube.leaderelection.elector import Elector
from muster.kube.leaderelection.fence import FencedTransport
from muster.kube.leaderelection.lease import Leases
from muster.kube.leaderelection.rules import Terms
from muster.kube.listwatch.listing import ObjectList, list_all
from muster.kube.listwatch.reflector import ReflectorSettings
from muster.kube.transport import Transport
from muster.kube.workqueue import WorkQueue
from muster.metrics.collector import ExperimentCollector, Invalid, Subject
from muster.metrics.instruments import Instruments
from muster.metrics.leadership import LeadershipCollector
from muster.metrics.watch import WatchCollector
from muster.reconcilers.native.engine import NativeEngine
from muster.state.actions import ProbeTarget
from muster.state.plan import Plan
from muster.state.policies import deadline
from muster.state.record import Record
from muster.state.roll import RollAnswer
from muster.state.rules import ClockName
from muster.watchers import experiments
from muster.watchers.experiments import ExperimentRecord

log = structlog.get_logger()


class Daemon:
    """One musterd. ``run`` until ``stop`` is called or a part fails."""

    def __init__(
        self,
        transport: Transport,
        settings: Settings,
        *,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
        random: Random,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        instance: str,
        version: str,
        make_prober: Callable[[ProbeTarget], Prober] | None = None,
        settle: Callable[[], None] = lambda: None,
    ) -> None:
        """Call this on the event loop that will run the daemon.

        ``instance`` names this daemon in Events and in the Lease. ``settle`` is called once, when the first full lists
        have arrived.
        """
        self.settings = settings
        clock = self._wall_clock = WallClock(clock, monotonic, self._clock_stepped)
        self.instruments = Instruments(version, lambda: self.index.pods, lambda: len(self.queue))
        self.denials = Denials(monotonic)
        transport = MeasuredTransport(transport, self.instruments.request, monotonic, self._answered)
        self.unfenced = transport
        """For requests that change nothing, such as reviews of readers: a standby sends them too."""
        self.elector: Elector | None = None
        writing: Transport = transport
        if settings.leader_elect:
            self.elector = Elector(
                Leases(transport, settings.lease_namespace or "default", settings.lease_name, clock),
                f"{instance}_{random.getrandbits(64):016x}",
                Terms(settings.lease_duration, settings.renew_deadline, settings.retry_period),
                monotonic=monotonic,
                random=random,
            )
            writing = FencedTransport(transport, self.elector.fence)
        self.queue = WorkQueue(self.instruments.queued)
        creates, others = (FairShare(ALONE * settings.write_concurrency) for _ in range(2))
        self.index = ExperimentIndex(wanted=self._wanted, gone=self._gone)
        self.border = ErrorBorder(self.index, self._requeue, self.instruments.failed)
        self.loop_lag = LoopLagMonitor(self.instruments.lagged)
        self.probers = ProberPool(
            self._heard, make=make_prober or prober_of(clock), lag=lambda: self.loop_lag.lag, observe=self._probed
        )
        self.recorder = EventRecorder(writing, others, instance, self.instruments.failed)
        self.informers = Informers(
            transport,
            self.border,
            namespace=settings.namespace,
            times=Times(monotonic, random, sleep),
            settings=ReflectorSettings(silence=settings.watch_silence),
            advanced=self._advanced,
        )
        self.controller = Controller(
            transport=writing,
            share=others,
            index=self.index,
            queue=self.queue,
            informers=self.informers,
            engine=NativeEngine(writing, creates=creates, others=others, clock=clock),
            probers=self.probers,
            recorder=self.recorder,
            instruments=self.instruments,
            clock=clock,
            monotonic=monotonic,
        )
        self.health = DaemonHealth(self.informers, self.denials, self.elector, self.loop_lag, monotonic)
        self.instruments.registry.register(
            ExperimentCollector(
                lambda: self.subjects() if self.leading else (),
                clock,
                deadlines=deadline.ends,
                invalid=lambda: self.invalid() if self.leading else (),
            )
        )
        self.instruments.registry.register(
            WatchCollector(lambda: self.informers.reflectors.items(), monotonic, self.index.foreign_pods)
        )
        if self.elector is not None:
            self.instruments.registry.register(LeadershipCollector(self.elector))
        self._writing = writing
        self._settle = settle
        self._sleep = sleep
        self._synced = asyncio.Event()
        self._stop = asyncio.Event()
        self._watches: list[asyncio.Task[None]] = []
        self._workers: list[asyncio.Task[None]] = []
        self._announcing: list[asyncio.Task[None]] = []
        self._others: list[asyncio.Task[None]] = []

    @property
    def leading(self) -> bool:
        """This daemon decides and writes. Without an election it always does."""
        return self.elector is None or self.elector.leading

    def subjects(self) -> Iterator[Subject]:
        """Every experiment that has a plan and a record, for metrics and the roll-call page."""
        for entry in self.index:
            if entry.plan is not None and entry.record is not None:
                yield Subject(entry.plan, entry.record, entry.view)

    def invalid(self) -> Iterator[Invalid]:
        """Every experiment that has ended because its spec cannot be planned."""
        for entry in self.index:
            if entry.plan is None and entry.record is not None and not entry.unreadable:
                yield Invalid(entry.seen.namespace, entry.seen.name, entry.record)

    def find(self, namespace: str, name: str) -> Subject | None:
        """The experiment of that name, or None."""
        entry = self.index.named(namespace, name)
        if entry is None or entry.plan is None or entry.record is None:
            return None
        return Subject(entry.plan, entry.record, entry.view)

    def clocks(self, plan: Plan, record: Record) -> Mapping[ClockName, float]:
        """The running clocks of an experiment and the wall second each runs out."""
        return deadline.ends(plan, record)

    def retried(self, method: str, path: str) -> None:
        """Count a request that is repeated because the API server asked to wait."""
        self.instruments.retried(*labels(method, path))

    def stop(self) -> None:
        """Ask ``run`` to end."""
        self._stop.set()

    async def run(self) -> bool:
        """Run until stopped. False if a part failed or did not end in time."""
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
        for name, reflector in self.informers.reflectors.items():
            self._watches.append(asyncio.create_task(reflector.run(), name=f"watch {name}"))
        if self.elector is None:
            self._start_writers()
        else:
            self._others.append(asyncio.create_task(self._elect(self.elector), name="election"))
        self._others.append(asyncio.create_task(self.loop_lag.run(), name="loop_lag"))
        self._others.append(asyncio.create_task(self._watch_clock(), name="wall_clock"))

    def _start_writers(self) -> None:
        steps = self.queue.run(self._step, self._step_failed)
        self._workers.append(asyncio.create_task(steps, name="steps"))
        self._announcing.append(asyncio.create_task(self.recorder.run(), name="recorder"))

    async def _elect(self, elector: Elector) -> None:
        """Take part in the election once the first full lists have arrived."""
        await self._synced.wait()
        await elector.run(self._lead)

    async def _lead(self) -> None:
        """Everything that only the leader does, until it is cancelled."""
        try:
            latest = await self._latest()
            if not self._stop.is_set():
                take_over(self.index, self.border, self.queue, latest)
                self._start_writers()
                await asyncio.wait([*self._workers, *self._announcing], return_when=asyncio.FIRST_COMPLETED)
            if self._stop.is_set():
                await asyncio.Event().wait()  # the shutdown stages end the writers, and then this task
            for writer in (*self._workers, *self._announcing):
                if writer.done():
                    writer.result()
        finally:
            await end_tasks([*self._workers, *self._announcing])
            self._workers.clear()
            self._announcing.clear()
            await self.probers.close()
            stand_by(self.index, self.queue)
            self.controller.stand_by()

    async def _latest(self) -> ObjectList[ExperimentRecord]:
        """All Experiments as the API server has them now. Retries until it answers."""
        path = in_namespace(self.settings.namespace, experiments.PATH)
        while True:
            try:
                return await list_all(
                    self._writing,
                    path,
                    {},
                    experiments.DECODER,
                    page_size=500,
                    timeout=self.settings.renew_deadline,
                )
            except ApiError as error:
                log.warning("experiments cannot be listed, retrying before the first decision", error=str(error))
            await self._sleep(self.settings.retry_period)

    async def _end(self) -> list[str]:
        """End the writers, then release the Lease, then end what only reads.

        In another order a decision could use caches that are being closed.
        """
        self._stop.set()
        share = self.settings.shutdown_timeout / 5
        self.queue.close()
        return await shut_down(
            [
                Stage("end the steps", share, lambda: end_tasks(self._workers)),
                Stage("write the remaining Events", share, self._flush),
                Stage("end the probes", share, self.probers.close),
                Stage("hand over", share, self._hand_over),
                Stage("end the watches", share, lambda: end_tasks([*self._watches, *self._announcing, *self._others])),
            ]
        )

    async def _flush(self) -> None:
        """Write the queued Events. Those of a standby, or after a lost leadership, stay in the status only."""
        if self._announcing:
            flushing = asyncio.create_task(self.recorder.flushed(), name="events flushed")
            await asyncio.wait([flushing, *self._announcing], return_when=asyncio.FIRST_COMPLETED)
            await end_tasks([flushing])

    async def _hand_over(self) -> None:
        if self.elector is not None:
            await end_tasks([task for task in self._others if task.get_name() == "election"])
            await self.elector.resign()

    def _answered(self, verb: str, resource: str, error: ApiError | None) -> None:
        """A request was answered. Reviews of readers are left out: no decision needs them."""
        if resource not in ("tokenreviews", "subjectaccessreviews"):
            self.denials.observe(verb, resource, error)

    async def _watch_clock(self) -> None:
        """Read the wall clock often enough to notice a step while nothing else happens."""
        while True:
            await self._sleep(TICK)
            self._wall_clock()

    def _clock_stepped(self, seconds: float) -> None:
        log.warning("wall clock was set, moving the times of running clocks", seconds=round(seconds, 3))
        self.instruments.clock_stepped()
        for entry in self.index:
            self.border.clock_stepped(entry, seconds)
            if self.leading:
                self.queue.add(entry.seen.uid)

    def _step(self, uid: str) -> Coroutine[Any, Any, None] | None:
        """Decide about an experiment; rebuild it first if a change of it failed."""
        self.informers.repair(uid)
        return self.controller.step(uid)

    def _step_failed(self, uid: str, error: Exception) -> float | None:
        if not isinstance(error, ApiError):
            self.instruments.failed("step")
        return self.controller.failed(uid, error)

    def _heard(self, uid: str, epoch: int, answer: RollAnswer) -> None:
        self.controller.heard(uid, epoch, answer)

    def _probed(self, kind: str, answer: RollAnswer) -> None:
        self.instruments.probed(kind, answer.coordinator.value, answer.latency)

    def _wanted(self, uid: str) -> None:
        if uid not in self.border.damaged:  # else its retry waits in the queue, with a delay that grows
            self._requeue(uid)

    def _requeue(self, uid: str) -> None:
        if self.leading:
            self.queue.add(uid)

    def _advanced(self) -> None:
        if self.informers.synced and not self._synced.is_set():
            self._synced.set()
            self._settle()
        if self.leading:
            self.controller.caught_up()

    def _gone(self, uid: str) -> None:
        self.queue.forget(uid)
        self.probers.aim(uid, None)
        if self.leading:
            self.controller.gone(uid)
