"""The composition root: every part of the daemon, and what each of its tasks does (``daemon.tasks`` runs them).

The parts do not know each other; ``__init__``, read from top to bottom, shows how data goes round.
Clock, randomness and sleep come from outside, and the API server is reached through ``Transport`` alone, so the whole
daemon runs unmodified in a simulated world.

Watches always run. The queue with its steps, the event recorder and the probers run too; with leader election they
run only while this daemon leads, and their writes pass a fence (``muster.kube.leaderelection``).
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from functools import partial
from random import Random
from typing import Any

import structlog

from muster.api.errors import ApiError
from muster.api.values.accelerators import Accelerators
from muster.api.values.owners import OwnerLabels
from muster.api.values.retention import Retention
from muster.daemon.clocks import READ_EVERY, LoopLagMonitor, WallClock
from muster.daemon.event_recorder import EventRecorder
from muster.daemon.experiments.error_boundary import ErrorBoundary
from muster.daemon.experiments.index import ExperimentIndex
from muster.daemon.experiments.lookup import find, subjects
from muster.daemon.experiments.sent import Hearing, PodIdentity, SentIntake
from muster.daemon.incidents.node_history import NodeHistory, NodePlaces
from muster.daemon.incidents.watch import IncidentWatch
from muster.daemon.informers import Informers, WatchedWatches, report
from muster.daemon.prober_pool import Prober, ProberPool, prober_of
from muster.daemon.remarks import RemarkReader
from muster.daemon.settings import Settings
from muster.daemon.steps.controller import Controller
from muster.daemon.steps.status_writer import ref_of
from muster.daemon.steps.watched import event_subject
from muster.daemon.tasks import Source, Tasks, elector_of, list_latest, take_over
from muster.daemon.web.certificate import endpoint_for
from muster.daemon.web.health import DaemonHealth
from muster.daemon.web.live import Changes
from muster.kinds.registry import RUN_KINDS, runs
from muster.kube.fair_share import ALONE, FairShare
from muster.kube.instrumented import Denials, labels, measured
from muster.kube.listwatch.decoder import ObjectList
from muster.kube.listwatch.reflector import Reflector, ReflectorSettings
from muster.kube.transport import Around, Transport
from muster.kube.workqueue import WorkQueue
from muster.metrics.collector import ExperimentCollector, Subject
from muster.metrics.instruments import Instruments, Traced
from muster.metrics.own_state import IncidentCollector, LeadershipCollector, RightsCollector, WatchCollector
from muster.reconcilers.native.engine import NativeEngine
from muster.state.facts.incidents.grouping import Places
from muster.state.view.roll import RollAnswer
from muster.state.vocabulary.actions import ProbeTarget
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Record, StoryLine
from muster.tracking.entry import Entry
from muster.tracking.watched_index import WatchedIndex
from muster.watchers import experiments
from muster.watchers.experiments import ExperimentRecord
from muster.watchers.run_kinds import decoder_of

log = structlog.get_logger()


class Daemon:
    """One musterd: ``run`` it until ``stop`` is called or a part fails."""

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
        cpu: Callable[[], float] = lambda: 0.0,
        settle: Callable[[], None] = lambda: None,
        traced: Traced | None = None,
    ) -> None:
        """Call this on the event loop that will run the daemon.

        ``instance`` names this daemon in Events and in the Lease. ``cpu`` is a clock of this thread's CPU seconds, by
        which probes are paced. ``settle`` is called once, when the first full lists have arrived. ``traced`` is called
        with each transition of a record.
        """
        self.settings = settings
        self.accelerators = Accelerators.of_list(settings.accelerators)
        self.owners = OwnerLabels.of_list(settings.owner_labels)
        clock = self._wall_clock = WallClock(clock, monotonic, self._clock_stepped)
        self.instruments = Instruments(
            version,
            lambda: self.index.pods + self.watched.index.pods,
            lambda: len(self.queue),
            traced,
            self._persisted,
            clock,
        )
        self.denials = Denials(monotonic)
        transport = measured(transport, self.instruments.request, monotonic, self._answered)
        self.unfenced = transport
        """The transport for requests that change nothing, such as reviews of readers: a standby sends them too."""
        self.elector = elector_of(settings, transport, instance, clock=clock, monotonic=monotonic, random=random)
        writing: Transport = transport if self.elector is None else Around(transport, self.elector.fence.passing)
        self.changes = Changes()
        self.queue = WorkQueue(self.instruments.queued)
        creates, others = (FairShare(ALONE * settings.write_concurrency) for _ in range(2))
        self.index = ExperimentIndex(
            wanted=self._wanted, gone=self._gone, retention=Retention.of_list(settings.retention)
        )
        self.boundary = ErrorBoundary(self.index, self.instruments.failed)
        self.loop_lag = LoopLagMonitor(self.instruments.lagged)
        self.probers = ProberPool(
            self._heard,
            make=make_prober or partial(prober_of, clock),
            lag=lambda: self.loop_lag.lag,
            observe=lambda kind, answer: self.instruments.probed(kind, answer.coordinator.value, answer.latency),
            cpu=cpu,
        )
        self.recorder = EventRecorder(writing, others, instance, self.instruments.failed)
        self.informers = Informers(
            transport,
            self.index,
            self.boundary,
            namespace=settings.namespace,
            monotonic=monotonic,
            random=random,
            sleep=sleep,
            settings=ReflectorSettings(silence=settings.watch_silence),
            advanced=self._advanced,
            kinds=[kind for kind in RUN_KINDS.values() if kind.subject.plural in settings.run],
            kueue=settings.kueue,
            owners=self.owners,
            queue_turned=self._queue_turned,
        )
        self.watched = WatchedWatches(
            self.informers,
            WatchedIndex(
                self.index.entries,
                settings.watched,
                wanted=self._wanted,
                gone=self._gone,
                ours=partial(runs, settings.run),
                count=self.instruments.failed,
                report=report,
                alone=settings.alone,
            ),
            settings.watched,
            advanced=self._advanced,
            owners=self.owners,
        )
        self._hearing = Hearing(clock, monotonic)
        self._intake = SentIntake(self.index, clock, self.queue.add_in)
        self._remarks = RemarkReader(transport, self.queue.add_in, clock)
        self.controller = Controller(
            transport=writing,
            share=others,
            index=self.index,
            queue=self.queue,
            informers=self.informers,
            engine=NativeEngine(writing, creates=creates, others=others, clock=clock, endpoint=endpoint_for(settings)),
            probers=self.probers,
            recorder=self.recorder,
            instruments=self.instruments,
            clock=clock,
            monotonic=monotonic,
            watched_synced=self.watched.synced,
            heard_since=self._heard_since,
            remarks=self._remarks,
        )
        self.health = DaemonHealth(self.informers, self.denials, self.elector, self.loop_lag, monotonic)
        self.runs = ExperimentCollector(
            lambda: self.index if self.leading and self.informers.synced else (),
            clock,
            accelerators=self.accelerators,
            labels=self.owners.names,
        )
        self.instruments.registry.register(self.runs)
        self.node_places = NodePlaces(self.informers.reflector, monotonic) if settings.node_labels else None
        self.instruments.registry.register(WatchCollector(self._watches, monotonic, self.index.foreign_pods))
        self.instruments.registry.register(RightsCollector(self.denials.lasting))
        if self.elector is not None:
            self.instruments.registry.register(LeadershipCollector(self.elector))
        self.incidents = IncidentWatch(
            self.subjects,
            lambda: self.leading,
            self._tell,
            clock=clock,
            monotonic=monotonic,
            sleep=sleep,
            accelerators=self.accelerators,
            places=self.node_places.now if self.node_places is not None else Places,
            failed=self.instruments.failed,
        )
        self.nodes = NodeHistory(
            self.index, settings, writing, self.node_places, lambda: self.leading, clock, monotonic, sleep
        )
        known = (lambda: self.incidents.tracking), (lambda: self.incidents.lost)
        self.instruments.registry.register(IncidentCollector(*known, self.accelerators, lambda: self.nodes.suspects))
        self._writing = writing
        self._settle = settle
        self._sleep = sleep
        self._tasks = Tasks(self, settings.shutdown_timeout)

    @property
    def leading(self) -> bool:
        """True while this daemon decides and writes; without an election it always does."""
        return self.elector is None or self.elector.leading

    def subjects(self) -> Iterator[Subject]:
        """Yield every experiment that has a record or an unreadable status; the loop may run in between."""
        return subjects(self.index)

    def find(self, namespace: str, name: str) -> Subject | None:
        """Return the experiment of that name, or the object of another kind (``jobset/train``); None without one."""
        return find(self.index, namespace, name)

    @property
    def leader_address(self) -> str:
        """The address of the leader's progress endpoint; empty if it is not known, or if this daemon leads."""
        return "" if self.elector is None or self.leading else self.elector.leader_address.partition(",")[2]

    @property
    def leader_page(self) -> str:
        """The address of the page of another daemon that leads; empty if none renews the Lease, or it is not known."""
        elector = self.elector
        return elector.leader_address.partition(",")[0] if elector is not None and elector.sees_leader else ""

    def reported(self, namespace: str, name: str, pod: PodIdentity, body: bytes, address: str) -> None:
        """Take in a progress report of that pod, sent from that address. Raises ``PostRefused``."""
        self._intake.take(namespace, name, pod, body, address)

    def unheard(self, address: str) -> None:
        """Note that a post from that address may have been lost for lack of room; an empty address means any."""
        self._hearing.lost(address)

    def retried(self, method: str, path: str) -> None:
        """Count a request that is repeated because the API server asked to wait."""
        self.instruments.retried(*labels(method, path))

    def stop(self) -> None:
        """Ask ``run`` to end."""
        self._tasks.stop()

    async def run(self) -> bool:
        """Run until stopped. Return False if a part failed or did not end in time."""
        return await self._tasks.run()

    def watches(self) -> Mapping[str, Coroutine[Any, Any, None]]:
        """Return one watch for each kind of object, by the name of its task."""
        follows: dict[str, Coroutine[Any, Any, None]] = {n: each.run() for n, each in self.informers.reflectors.items()}
        follows |= {name: each.run() for name, each in self.informers.run_kinds.items()}
        follows |= {f"watched {name}": each.run() for name, each in self.watched.kinds.items()}
        if self.node_places is not None:
            follows["nodes"] = self.node_places.run()
        return {f"watch {name}": follow for name, follow in follows.items()}

    def others(self) -> Mapping[str, Coroutine[Any, Any, None]]:
        """Return the tasks of every daemon: loop lag, wall clock, incidents, history of nodes and remarks."""
        work = {"loop_lag": self.loop_lag.run(), "wall_clock": self._watch_clock()}
        work |= {"incidents": self.incidents.run(), "node_history": self.nodes.run()}
        return work | {"remarks": self._remarks.run()}

    def steps(self) -> Coroutine[Any, Any, None]:
        """Return the task that runs the steps of the queued experiments."""
        return self.queue.run(self._step, self._step_failed)

    async def latest(self) -> ObjectList[ExperimentRecord]:
        """Return all Experiments and the objects of other served kinds, as the API server has them when it answers."""
        sources: list[Source] = [(experiments.PATH, experiments.decoder_of(self.owners))]
        served = (each for each in self.informers.run_kinds.values() if each.served)
        sources += [(each.kind.subject.path, decoder_of(each.kind, self.owners)) for each in served]
        return await list_latest(self._writing, sources, self.settings, self._sleep)

    def take_over(self, latest: ObjectList[ExperimentRecord]) -> None:
        """Begin to lead, from the ``latest`` records."""
        self._hearing.begin()
        take_over(self.index, self.boundary, self.queue, latest)
        self.changes.everything()

    def stand_by(self) -> None:
        """Stop leading: forget what only the leader does."""
        for entry in self.index:
            self.queue.forget(entry.seen.uid)
        self.controller.stand_by()
        self._remarks.forget()
        self.incidents.stand_by()
        self.nodes.stand_by()
        self.changes.everything()

    def _watches(self) -> Iterator[tuple[str, Reflector[Any]]]:
        """Yield each watch that is to be open, with the plural of its kind."""
        yield from self.informers.watched()
        if self.node_places is not None:
            yield "nodes", self.node_places.reflector

    def _answered(self, verb: str, resource: str, error: ApiError | None) -> None:
        """Observe the answer to a request that decisions need: none for reviews, nodes, their history or Events."""
        needless = ("tokenreviews", "subjectaccessreviews", "nodes", "configmaps")
        if resource not in needless and (verb, resource) != ("list", "events"):
            self.denials.observe(verb, resource, error)

    async def _watch_clock(self) -> None:
        """Read the wall clock often enough to notice a step while nothing else happens."""
        while True:
            await self._sleep(READ_EVERY)
            self._wall_clock()
            self._hearing.since()

    def _clock_stepped(self, seconds: float) -> None:
        log.warning("wall clock was set, moving the times of running clocks", seconds=round(seconds, 3))
        self.instruments.clock_stepped()
        self._hearing.clock_stepped(seconds)
        for entry in self.index:
            self.boundary.clock_stepped(entry, seconds)
            if self.leading:
                self.queue.add(entry.seen.uid)

    def _heard_since(self, entry: Entry) -> float:
        """Return the wall time since which every report of the run's members would have reached this daemon."""
        if entry.watched is not None and self.watched.failing(entry.watched.name):
            return self._wall_clock()
        return self._hearing.since(entry.view.sent.addresses)

    def _step(self, uid: str) -> Coroutine[Any, Any, None] | None:
        """Decide about an experiment; rebuild it first if a change of it failed."""
        if uid in self.boundary.damaged:
            self.boundary.repair(uid, self.informers.cached(uid))
        return self.controller.step(uid)

    def _step_failed(self, uid: str, error: Exception) -> float | None:
        if not isinstance(error, ApiError):
            self.instruments.failed("step")
        return self.controller.failed(uid, error)

    async def _heard(self, uid: str, epoch: int, answer: RollAnswer) -> None:
        await self.controller.heard(uid, epoch, answer)
        self.changes.changed(uid)

    def _persisted(self, plan: Plan, old: Record | None, new: Record) -> None:
        entry = self.index.get(plan.uid)
        self.runs.changed(plan, old, new, entry.owners if entry is not None else ())
        self.nodes.changed(plan, old, new)

    def _wanted(self, uid: str) -> None:
        """Show a change of that experiment, and requeue it if this daemon leads."""
        self.changes.changed(uid)
        if self.leading and uid not in self.boundary.damaged:  # a damaged experiment waits for its retry
            self.controller.changed(uid)

    def _advanced(self, _version: int) -> None:
        if self.informers.synced and not self._tasks.synced.is_set():
            self._tasks.synced.set()
            self._settle()
        if self.leading:
            self.controller.caught_up()

    def _queue_turned(self) -> None:
        """Requeue all experiments that have a queue, because Workloads became readable or unreadable."""
        for entry in self.index:
            if entry.plan is not None and (entry.plan.queue is not None or entry.plan.watching.local_queue):
                self._wanted(entry.seen.uid)

    def _tell(self, plan: Plan, line: StoryLine) -> None:
        """Write an Event whose line is not in the story of the run's status."""
        entry = self.index.get(plan.uid)
        if entry is not None and (ref := event_subject(entry) if entry.watched is not None else ref_of(entry)):
            self.recorder.record(ref, (line,))

    def _gone(self, uid: str) -> None:
        self.changes.changed(uid)
        self.queue.forget(uid)
        self.probers.aim(uid, None)
        if self.leading:
            self.controller.gone(uid)
