"""Bugs in what the daemon sees: caches that are late, mixed up, or out of order."""

import asyncio
from collections.abc import Mapping
from typing import Any

from muster.api.names import KIND
from muster.daemon.experiments.index import ExperimentIndex
from muster.daemon.informers import Informers
from muster.daemon.steps.controller import Controller
from muster.daemon.steps.status_writer import StatusWriter
from muster.kube.listwatch.decoder import Event
from muster.kube.listwatch.sink_feed import SinkFeed, Tombstones
from muster.kube.listwatch.store import Store
from muster.state.view.engine_facts import LiveRead
from muster.state.view.roll import RollAnswer
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Record
from muster.tracking.entry import Entry, Freshness, Readiness
from tests.planted.bug import Hunt, Swaps, bug, instead_of, swap

FOR_EVER = 1 << 62
"""A resourceVersion later than all others."""
BACKLOG = 1.0
"""Seconds for which an event of the first watch is queued."""


@bug(Hunt("hold", "member-fails"), Hunt("drop", "member-fails"), Hunt("clean", "member-fails"))
def own_writes_unread() -> Swaps:
    """A step decides on the caches, whether or not they contain the daemon's own last writes."""
    write = StatusWriter.write

    async def forgotten(self: StatusWriter, entry: Entry, record: Record, *rest: Any) -> None:
        cached, version = entry.record, entry.freshness.version
        await write(self, entry, record, *rest)
        if entry.record is record and cached is not None:
            entry.record, entry.freshness.version = cached, version

    return [
        swap(Freshness, "ready", lambda freshness, **caches: Readiness.DECIDE),
        swap(Informers, "pods_version", property(lambda caches: FOR_EVER)),
        swap(StatusWriter, "write", forgotten),
    ]


@bug(Hunt("drop", "edited"), Hunt("drop", "never-arrives-restarts"))
def old_generation() -> Swaps:
    """Events are queued per watch; a new list does not empty the queue, and their age is not checked."""
    apply = SinkFeed.apply

    def queued(self: SinkFeed[Any], event: Event[Any]) -> None:
        asyncio.get_running_loop().call_later(0.0 if self.relists else BACKLOG, apply, self, event)

    def put(self: Store[Any], obj: Any, version: int) -> None:
        old = self.objects.get(obj.uid)
        self.objects[obj.uid] = obj
        if self._on_change is not None:
            self._on_change(old, obj)
        self.reached(version)

    return [swap(SinkFeed, "apply", queued), swap(Tombstones, "late", _never), swap(Store, "put", put)]


@bug(Hunt("stale", "side-by-side", size=1, most=250))
@instead_of(Freshness, "ready")
def pods_before_record(ready: Any, freshness: Freshness, **caches: Any) -> Readiness:
    """A status that another run wrote is judged with pods from before it was written."""
    found = ready(freshness, **caches)
    return Readiness.DECIDE if found is Readiness.READ_PODS else found


@bug(Hunt("late-list", "ends-before-its-deadline"), shown_by="it should be")
@instead_of(Controller, "_read_pods")
async def read_dated_by_its_answer(read: Any, self: Controller, entry: Entry, plan: Plan) -> None:
    """A live read is as new as the arrival of its answer, and not as its request."""
    before = entry.view.engine.live_read
    await read(self, entry, plan)
    if (after := entry.view.engine.live_read) is not None and after is not before:
        entry.view.engine.live_read = LiveRead(self.clock(), after.version)


@bug(Hunt("clean", "same-name"), Hunt("crash", "same-name", most=5))
@instead_of(ExperimentIndex, "named")
def found_by_name_alone(_: Any, self: ExperimentIndex, namespace: str, name: str, kind: str = KIND) -> Entry | None:
    """The roll-call page looks an experiment up by its name, whatever the namespace."""
    return next((entry for entry in self if entry.seen.name == name), None)


@bug(Hunt("slow-answer", "survivors-hang"))
@instead_of(Controller, "heard")
async def old_answer_credited(_: Any, self: Controller, uid: str, epoch: int, answer: RollAnswer) -> None:
    """A probe's answer counts for the epoch that the record has by then, and not for the one that was probed."""
    entry = self.index.get(uid)
    if entry is None:
        return
    current = entry.record.epoch if entry.record else epoch
    if entry.view.observe_probe(answer, current):
        self.queue.add(uid)


@bug(Hunt("clean", "deleted"), Hunt("crash", "deleted", most=10))
@instead_of(ExperimentIndex, "_drop")
def view_leaked(_: Any, self: ExperimentIndex, key: tuple[str, str]) -> None:
    """The view of an experiment that is gone is kept when its last pod goes."""


def _never(self: Tombstones, uid: str, version: int) -> bool:
    return False


@bug(Hunt("stranger", "coordinator-first", most=130))
def cache_by_name() -> Swaps:
    """Objects are identified by name: one that was deleted and created again is taken for the deleted one."""
    buried: dict[int, tuple[Store[Any], set[tuple[str, str]]]] = {}

    def key(obj: Any) -> tuple[str, str]:
        return obj.namespace, obj.name

    def graves(store: Store[Any]) -> set[tuple[str, str]]:
        return buried.setdefault(id(store), (store, set()))[1]

    replace, put, drop = Store.replace, Store.put, Store.drop

    def replacing(self: Store[Any], objects: Mapping[str, Any], version: int) -> None:
        graves(self).clear()
        replace(self, objects, version)

    def putting(self: Store[Any], obj: Any, version: int) -> None:
        if key(obj) in graves(self):
            self.reached(version)
        else:
            put(self, obj, version)

    def dropping(self: Store[Any], uid: str, obj: Any, version: int) -> None:
        graves(self).add(key(obj))
        drop(self, uid, obj, version)

    return [swap(Store, "replace", replacing), swap(Store, "put", putting), swap(Store, "drop", dropping)]
