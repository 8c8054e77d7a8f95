"""Watches over one run: its object and its pods, its coordinator through the API server, and musterd's decisions on it.

It needs no more than the reader's rights: get of the object; list and watch of pods, limited to those of the run; get
and create of pods/portforward for the roll call. ``unknown`` has what a missing right costs. Nothing is written: an end
that the run's own annotations ask for is not carried out.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import inf
from random import SystemRandom
from typing import Any, Final, Protocol

from msgspec import structs

from muster.api.errors import ApiError, Forbidden, MusterError, Throttled, Unreachable
from muster.api.values.printable import word
from muster.daemon.informers import in_namespace
from muster.daemon.one_run.ports import Ports
from muster.daemon.prober_pool import Prober, ProberPool, private, prober_of
from muster.daemon.remarks import RemarkReader
from muster.kinds.declaration import Object, Place, PodSource, WatchedKind, every, part_of
from muster.kinds.planning.watched_plan import OPERATOR, PORT, annotations_of
from muster.kinds.pods import LABELLED_PODS, SIZE, within
from muster.kube.cancellation import cancel_and_wait
from muster.kube.execution import Sockets
from muster.kube.instrumented import lacks
from muster.kube.listwatch.reflector import Reflector, ReflectorSettings
from muster.kube.listwatch.store import Store
from muster.kube.transport import Transport
from muster.rollcall.document import Detail
from muster.rollcall.make import detail
from muster.state.facts.context import Context
from muster.state.policies.watched.obstacles import PODS_MISSING
from muster.state.view.roll import RollAnswer
from muster.state.vocabulary.actions import ProbeTarget
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.workload import Workload
from muster.tracking.entry import Entries, Entry, settle
from muster.tracking.watched_index import WatchedIndex, record_of, unasked, unreported
from muster.watchers.experiments import ExperimentRecord
from muster.watchers.pods.decode import PATH
from muster.watchers.probes.bounded.connection import DIAL, in_turns
from muster.watchers.watched import pod_decoder_of


def chosen_pods(selector: str) -> WatchedKind:
    """Return the kind of the pods that the selector chooses as one run: of any controller, without Muster's label."""
    name = word(selector)
    source = PodSource("pods", selector, lambda pod: Place(f"pods/{name}", *within(pod)))
    return replace(LABELLED_PODS, pods=(source,), plan_of=_chosen)


def stated(kind: WatchedKind, operator: str, port: int, ranks: int) -> WatchedKind:
    """Return the kind with an operator, a coordinator's port and a number of ranks.

    They go before the annotations of its objects, which count where an argument is empty or zero.
    """
    found = {OPERATOR: operator, PORT: str(port or ""), SIZE: str(ranks or "")}
    return replace(kind, plan_of=partial(_stated, kind.plan_of, {name: text for name, text in found.items() if text}))


def _chosen(obj: Mapping[str, Any]) -> Plan:
    plan = LABELLED_PODS.plan_of(obj)
    return replace(plan, watching=replace(plan.watching, chosen=True))


def _stated(plan_of: Callable[[Mapping[str, Any]], Plan], found: Mapping[str, str], obj: Mapping[str, Any]) -> Plan:
    annotations = {**annotations_of(obj), **found}
    return plan_of({**obj, "metadata": {**part_of(obj, "metadata"), "annotations": annotations}})


REREAD: Final = 10.0
"""Seconds after which the object is read again: a watch of its kind would need one more right."""
ASKED: Final = 3
"""Answers after which a coordinator counts as not serving."""
PATIENCE: Final = 10.0
"""Seconds after the last change of phase after which the answer is given, complete or not."""
UNREADABLE: Final = "why may be in its Events, which you may not list"


class Source(Protocol):
    """The source of the object, as the API server has it now."""

    async def read(self, unknown: MutableMapping[str, str]) -> tuple[Object, Object | None, Workload | None]:
        """Return the object, what its controller has made of it, and its Workload of Kueue. Raises ``ApiError``.

        What else may not be read is written into ``unknown``.
        """


class Cluster(Transport, Sockets, Protocol):
    """A connection to the API server that also opens WebSockets."""


class OneRun:
    """One run. ``selectors`` choose its pods, one for each source of the kind, for an object.

    ``source`` is None for pods without an object.
    """

    def __init__(
        self,
        cluster: Cluster,
        kind: WatchedKind,
        namespace: str,
        source: Source | None,
        selectors: Callable[[Object], Sequence[str]],
        *,
        clock: Callable[[], float] = time.time,
        make: Callable[[ProbeTarget], Prober] | None = None,
    ) -> None:
        """Call it on the loop that will run it. ``make`` makes the prober of a coordinator."""
        self.unknown: dict[str, str] = {}
        """The facts that are not known, each with its reason, by a key such as ``pods`` or ``roll``."""
        self._cluster, self._kind, self._namespace, self._source = cluster, kind, namespace, source
        self._selectors, self._clock = selectors, clock
        self._changed = asyncio.Event()
        self._entries = Entries()
        kinds = {kind.name: replace(kind, wanted=every)}
        self._index = WatchedIndex(self._entries, kinds, wanted=lambda _uid: self._changed.set())
        self._seen: dict[str, ExperimentRecord] = {}
        """The records of the object and of the object made of it, by the name of the kind."""
        self._admission: Workload | None = None
        self.chosen: tuple[str, ...] = ()
        """The label selectors of its pods."""
        self._stores: list[Store[Pod]] = []
        self._reflectors: list[Reflector[Pod]] = []
        self._watches: list[asyncio.Task[None]] = []
        self._failed: ApiError | None = None
        self.ports = Ports(cluster, namespace, self._pod_at)
        self._answers: list[RollAnswer] = []
        self._waits = 0
        """Answers in a row without a result, because the port could not be reached."""
        self._probers = ProberPool(
            self._heard,
            make=make or partial(prober_of, clock),
            lag=lambda: 0.0,
            observe=lambda _kind, _answer: None,
            cpu=time.thread_time,
        )
        self._remarks = RemarkReader(cluster, self._again, clock, UNREADABLE)
        self._remarked = False
        """True once the reason why pods are missing was read, as far as it may be read."""
        self._wake_at = inf
        self._target = False
        self._steady_at = clock()

    @property
    def entry(self) -> Entry | None:
        """The entry of the run; None before the first pod of a run without an object."""
        return next(iter(self._entries.values()), None)

    def document(self) -> Detail | None:
        """Return the roll call of this moment, as musterd's page has it; None if no pod exists or may be read."""
        entry = self.entry
        if entry is None or entry.plan is None or entry.record is None or "pods" in self.unknown:
            return None
        entry.record = structs.replace(entry.record, updated_at=0.0)  # no write is spent: the sentences are of now
        self._settle(entry)
        case = Context.at(entry.plan, entry.record, entry.view, self._clock())
        found = detail(case)
        return structs.replace(found, arrived=None, missing=None) if "roll" in self.unknown else found

    @property
    def youngest(self) -> float:
        """The age in seconds of the youngest member, from its start or, before it starts, from its creation."""
        entry = self.entry
        now, pods = self._clock(), [] if entry is None else list(entry.view.pods())
        return min((now - (pod.started_at or pod.created) for pod in pods), default=inf)

    @property
    def complete(self) -> bool:
        """True once all that can be known at once is known."""
        entry = self.entry
        if "pods" not in self.unknown and not all(store.synced for store in self._stores):
            return False
        if entry is None or entry.plan is None or entry.record is None or entry.watched is None:
            return True
        blocked = entry.record.blocked
        if blocked is not None and blocked.reason == PODS_MISSING and not self._kind.virtual and not self._remarked:
            return self._late
        if not self._target or self._waits >= ASKED:
            return True
        return self._late if not self._answers else self._answers[-1].coordinator.serving or len(self._answers) >= ASKED

    @property
    def _late(self) -> bool:
        return not 0.0 <= self._clock() - self._steady_at < PATIENCE

    async def run(self, until: Callable[[], bool], at: float = inf) -> None:
        """Watch until ``until`` returns True; it is called after each step, and at the wall second ``at``.

        Raises ``ApiError`` and ``MusterError``.
        """
        DIAL.set(self.ports.dial)
        remarks = asyncio.create_task(self._remarks.run(), name="remarks")
        try:
            await self._read()
            read_at = self._clock()
            while True:
                if self._failed is not None:
                    raise self._failed
                self._changed.clear()
                self._step()
                if until():
                    return await self._try_watches()
                now = self._clock()
                times = (self._wake_at, read_at + REREAD, self._steady_at + PATIENCE, at)
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(each for each in times if each > now) - now):
                        await self._changed.wait()
                if not 0.0 <= self._clock() - read_at < REREAD:
                    with suppress(Unreachable, Throttled):  # what was read before is used until the next read
                        await self._read()
                    read_at = self._clock()
        finally:
            await cancel_and_wait(remarks, *self._watches)
            await self._probers.close()
            await self.ports.close()

    async def _try_watches(self) -> None:
        """Wait for the first answer to each watch, so that the cost of a refused one is known."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(*(each.tried.wait() for each in self._reflectors))

    async def _read(self) -> None:
        """Read the object, and follow the pods that its selectors choose now."""
        obj: Object = {}
        if self._source is not None:
            obj, made, self._admission = await self._source.read(self.unknown)
            if self._kind.made is not None:
                self._take(self._kind.made.subject.words, record_of(self._kind.made, made) if made else None)
            self._take(self._kind.name, record_of(self._kind, obj))
        chosen = tuple(self._selectors(obj))
        if chosen == self.chosen:
            return
        await cancel_and_wait(*self._watches)
        for store in self._stores:
            store.replace({}, store.version)
        self.chosen, self._stores, self._reflectors, self._watches = chosen, [], [], []
        for source, selector in zip(self._kind.pods, chosen, strict=True):
            store = Store[Pod](self._index.pod_changed, lambda _version: self._changed.set())
            self._stores.append(store)
            reflector = Reflector(
                self._cluster,
                in_namespace(self._namespace, PATH),
                {"labelSelector": selector},
                pod_decoder_of(source, ()),
                store,
                clock=time.monotonic,
                random=SystemRandom(),
                sleep=asyncio.sleep,
                report=unreported,
                failed=self._refused(store),
                settings=ReflectorSettings(streamed_list=False),
            )
            self._reflectors.append(reflector)
            self._watches.append(asyncio.create_task(self._follow(reflector), name=f"watch pods {selector}"))

    def _take(self, name: str, new: ExperimentRecord | None) -> None:
        old = self._seen.pop(name, None)
        if new is not None:
            self._seen[name] = new
        if old is not None and (new is None or new.uid != old.uid):  # it was deleted, and perhaps created again
            self._index.object_changed(name, old, None)
            old = None
        if new is not None:
            self._index.object_changed(name, old, new)

    async def _follow(self, reflector: Reflector[Pod]) -> None:
        with suppress(ApiError):
            await reflector.run()

    def _refused(self, store: Store[Pod]) -> Callable[[ApiError, float], None]:
        """Return the callback for failures of a watch: without the right it ends the watch and keeps the cost."""

        def failed(error: ApiError, _wait: float) -> None:
            if isinstance(error, Forbidden) and store.synced:
                self.unknown["watch"] = f"{lacks(error, 'watch of pods')}: changes after this moment are not seen"
            elif isinstance(error, Forbidden):
                self.unknown["pods"] = f"{lacks(error, 'list of pods')}: ranks, nodes and causes are not known"
            elif not store.synced:
                self._failed = error
            else:
                return
            self._changed.set()
            raise error

        return failed

    def _step(self) -> None:
        entry = self.entry
        if entry is None or entry.watched is None:
            return
        if entry.plan is None:
            raise MusterError(f"{entry.title} cannot be watched over: {entry.problem}")
        if not all(store.synced for store in self._stores):
            return
        self._settle(entry)
        self._remarks.follow(entry)

    def _settle(self, entry: Entry) -> None:
        assert entry.plan is not None
        if self.ports.forbidden:  # ends the probe, whose answer is then never heard
            self._waits = ASKED
            self._lacks_roll()
        if self._waits >= ASKED:
            entry.plan = unasked(entry.plan)
        view = entry.view
        view.admission = self._admission
        view.queue_problem = "" if self._admission is not None else "no Workload was read"
        before = entry.record
        decision = settle(entry, self._clock())
        self._target = decision.probe is not None
        self._probers.aim(entry.seen.uid, decision.probe)
        self._wake_at = inf if decision.wake_at is None else decision.wake_at
        if before is None or before.phase is not decision.record.phase:
            self._steady_at = self._clock()

    async def _heard(self, _uid: str, epoch: int, answer: RollAnswer) -> None:
        entry = self.entry
        if entry is None:
            return
        if self.ports.problem and not answer.coordinator.serving:
            self._waits += 1
            self._lacks_roll()
        else:
            self._waits = 0
            self.unknown.pop("roll", None)
            self._answers = [*self._answers[-ASKED:], answer]
            await in_turns(entry.view.observe_in_turns(private(answer, entry.plan), epoch))
        self._changed.set()

    def _lacks_roll(self) -> None:
        self.unknown["roll"] = f"{self.ports.problem}: who has arrived is not known; pods and causes are"

    def _again(self, _uid: str, wait: float) -> None:
        self._remarked = True
        asyncio.get_running_loop().call_later(wait, self._changed.set)

    def _pod_at(self, ip: str) -> str:
        """Return the live pod that has that IP, by name; of several on the network of one node, the first by rank."""
        entry = self.entry
        found = [pod for pod in entry.view.pods() if pod.ip == ip and pod.live] if entry is not None else []
        return min(found, key=lambda pod: pod.rank).name if found else ""
