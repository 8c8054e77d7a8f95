"""The composition root: every part of the daemon, and every task it runs, in one place.

The parts do not know each other; whoever wants to see how data goes round reads ``__init__`` from top to bottom.
Clock, randomness and sleep come from outside, and the API server is reached through ``Transport`` alone, so the whole
daemon runs unmodified in a simulated world.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from random import Random

import structlog

from daemon.announcer import Announcer
from daemon.caches import Times, WatchCaches
from daemon.conductor import Conductor
from daemon.health import DaemonHealth
from daemon.heartbeat import Heartbeat
from daemon.probing import Prober, Probing, prober_of
from daemon.queue import Queue
from daemon.roster import Roster
from daemon.settings import Settings
from daemon.stages import Stage, end_tasks, shut_down
from metrics.collector import ExperimentCollector, Subject
from metrics.instruments import Instruments
from metrics.watch import WatchCollector
from muster.api.wire import Transport
from reconcilers.native.engine import NativeEngine
from state.actions import ProbeTarget
from state.plan import ClockName, Plan
from state.policies import deadline
from state.record import Record
from state.roll import RollAnswer
from watchers.reflector import ReflectorSettings

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
    ) -> None:
        """To be called on the loop that will run it. ``instance`` names this daemon in Events."""
        self.settings = settings
        self.instruments = Instruments(version, lambda: self.roster.pods, lambda: len(self.queue))
        self.queue = Queue(self.instruments.queued)
        self.roster = Roster(wanted=self.queue.add, gone=self._gone)
        self.heartbeat = Heartbeat(self.instruments.lagged)
        self.probing = Probing(
            self._heard, make=make_prober or prober_of(clock), lag=lambda: self.heartbeat.lag, observe=self._probed
        )
        self.announcer = Announcer(transport, instance)
        self.caches = WatchCaches(
            transport,
            self.roster,
            namespace=settings.namespace,
            times=Times(monotonic, random, sleep),
            settings=ReflectorSettings(silence=settings.watch_silence),
            advanced=self._advanced,
        )
        self.conductor = Conductor(
            transport=transport,
            roster=self.roster,
            queue=self.queue,
            caches=self.caches,
            engine=NativeEngine(
                transport, concurrency=settings.write_concurrency, observe=self.instruments.request, clock=clock
            ),
            probing=self.probing,
            announcer=self.announcer,
            instruments=self.instruments,
            clock=clock,
            monotonic=monotonic,
        )
        self.health = DaemonHealth(self.caches, self.heartbeat, monotonic)
        self.instruments.registry.register(ExperimentCollector(self.subjects, clock, deadlines=deadline.ends))
        self.instruments.registry.register(WatchCollector(lambda: self.caches.reflectors.items(), monotonic))
        self._stop = asyncio.Event()
        self._watches: list[asyncio.Task[None]] = []
        self._workers: list[asyncio.Task[None]] = []
        self._others: list[asyncio.Task[None]] = []

    def subjects(self) -> Iterator[Subject]:
        """Every experiment that has a plan and a record, for metrics and the roll-call page."""
        for entry in self.roster:
            if entry.plan is not None and entry.record is not None:
                yield Subject(entry.plan, entry.record, entry.view)

    def find(self, namespace: str, name: str) -> Subject | None:
        """The experiment of that name, or None."""
        entry = self.roster.named(namespace, name)
        if entry is None or entry.plan is None or entry.record is None:
            return None
        return Subject(entry.plan, entry.record, entry.view)

    def clocks(self, plan: Plan, record: Record) -> Mapping[ClockName, float]:
        """The running clocks of an experiment and the wall second each runs out."""
        return deadline.ends(plan, record)

    def stop(self) -> None:
        """Ask ``run`` to end."""
        self._stop.set()

    async def run(self) -> bool:
        """Run until stopped. False if a part failed or did not end in time."""
        self._start()
        stopping = asyncio.create_task(self._stop.wait(), name="stop")
        tasks = [*self._watches, *self._workers, *self._others]
        try:
            await asyncio.wait([stopping, *tasks], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            failed = [task for task in tasks if task.done() and not task.cancelled()]
            for task in failed:
                log.critical("a part of the daemon ended", task=task.get_name(), exc_info=task.exception())
            late = await self._end()
        return not failed and not late

    def _start(self) -> None:
        for name, reflector in self.caches.reflectors.items():
            self._watches.append(asyncio.create_task(reflector.run(), name=f"watch {name}"))
        for number in range(self.settings.workers):
            work = self.queue.work(self.conductor.step, self.conductor.failed)
            self._workers.append(asyncio.create_task(work, name=f"worker {number}"))
        self._others.append(asyncio.create_task(self.announcer.run(), name="announcer"))
        self._others.append(asyncio.create_task(self.heartbeat.run(), name="heartbeat"))

    async def _end(self) -> list[str]:
        """Writers first, so that nothing is decided on a picture that is being dismantled."""
        share = self.settings.shutdown_timeout / 4
        self.queue.close()
        return await shut_down(
            [
                Stage("end the steps", share, lambda: end_tasks(self._workers)),
                Stage("tell the remaining stories", share, self.announcer.told),
                Stage("end the probes", share, self.probing.close),
                Stage("end the watches", share, lambda: end_tasks([*self._watches, *self._others])),
            ]
        )

    def _heard(self, uid: str, epoch: int, answer: RollAnswer) -> None:
        self.conductor.heard(uid, epoch, answer)

    def _probed(self, kind: str, answer: RollAnswer) -> None:
        self.instruments.probed(kind, answer.coordinator.value, answer.latency)

    def _advanced(self) -> None:
        self.conductor.caught_up()

    def _gone(self, uid: str) -> None:
        self.queue.forget(uid)
        self.probing.aim(uid, None)
