"""Reads why pods are missing, or have no volumes or no network: controllers and kubelets report it in Events alone.

One request is under way at a time, and each run is asked about at most once in ``PACE`` seconds. Muster works without
the right to list Events: a namespace that refuses it is asked again after ``REFUSED`` seconds, and the sentence of the
run names the missing right.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

import structlog

from muster.api.errors import ApiError, Forbidden
from muster.api.values.secrets import Secrets, secrets_of
from muster.kinds.planning.parts import Part
from muster.kube.transport import Transport
from muster.state.policies.gathering.obstacles import SLOW_AFTER
from muster.state.policies.watched.obstacles import PODS_MISSING
from muster.state.view.own import Remark
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Record
from muster.tracking.entry import LOOKED_AT, Entry
from muster.watchers.remarks import POD, read_remark

log = structlog.get_logger()

PACE: Final = 30.0
"""Seconds between two reads for one run."""
SOON: Final = 0.1
"""Seconds by which a read may be early, because timers are not exact."""
REFUSED: Final = 600.0
"""Seconds for which a refusal of a namespace is remembered."""
MOST_NAMESPACES: Final = 10_000
UNREADABLE: Final = (
    "why may be in its Events, which musterd may not read: grant it list on events (watch.events of the chart)"
)


@dataclass(eq=False)
class RemarkReader:
    """The reader of remarks."""

    transport: Transport
    again: Callable[[str, float], None]
    """Requeues a run after that many seconds."""
    clock: Callable[[], float]
    """Gives wall seconds."""
    unreadable: str = UNREADABLE
    """The text for a run whose Events may not be listed."""
    _wanted: dict[str, Entry] = field(default_factory=dict)
    """Runs to read about, by uid, in the order of reading."""
    _ready: asyncio.Event = field(default_factory=asyncio.Event)
    _refused: dict[str, float] = field(default_factory=dict)
    """The time of the last refusal, by namespace."""

    def follow(self, entry: Entry) -> None:
        """Queue a read if pods of the run are missing, or have no volumes or no network; else forget what was read."""
        missing = _pods_are_missing(entry)
        since = None if missing else _unmade_since(entry)
        if not missing and since is None:
            entry.view.remark, entry.view.remark_problem = None, ""
            self._wanted.pop(entry.seen.uid, None)
            return
        now = self.clock()
        wait = PACE - (now - entry.heard_at) if entry.heard_at is not None else 0.0
        if since is not None:  # a volume is attached, and an address given, within a minute
            wait = max(wait, min(since + SLOW_AFTER - now, SLOW_AFTER))
        if SOON < wait <= SLOW_AFTER:  # else it is due, or the clock was set
            self.again(entry.seen.uid, wait)
        else:
            self._wanted[entry.seen.uid] = entry
            self._ready.set()

    def forget(self) -> None:
        """Drop all queued reads, because this daemon leads no longer."""
        self._wanted.clear()

    async def run(self) -> None:
        """Read for one queued run after the other."""
        while True:
            await self._ready.wait()
            if not self._wanted:
                self._ready.clear()
                continue
            uid = next(iter(self._wanted))
            await self._read(uid, self._wanted.pop(uid))

    async def _read(self, uid: str, entry: Entry) -> None:
        plan, view, namespace = entry.plan, entry.view, entry.seen.namespace
        entry.heard_at = now = self.clock()
        refused_at = self._refused.get(namespace)
        if plan is None or (refused_at is not None and 0.0 <= now - refused_at < REFUSED):
            self._take(uid, entry, view.remark, self.unreadable if plan is not None else "")
            return
        try:
            since = entry.watched.created if entry.watched is not None else 0.0
            secrets = _secrets(entry, plan)
            found = await read_remark(self.transport, namespace, _parts(entry, plan), since=since, secrets=secrets)
        except Forbidden as error:
            if len(self._refused) >= MOST_NAMESPACES:
                self._refused.clear()
            self._refused[namespace] = now
            log.info("Events may not be read", namespace=namespace, problem=str(error))
            self._take(uid, entry, None, self.unreadable)
        except ApiError as error:  # what was read before stays, with its age
            log.info("Events were not read", namespace=namespace, object=entry.title, problem=str(error))
            self.again(uid, PACE)
        else:
            self._refused.pop(namespace, None)
            self._take(uid, entry, found, "")

    def _take(self, uid: str, entry: Entry, found: Remark | None, problem: str) -> None:
        entry.view.remark, entry.view.remark_problem = found, problem
        self.again(uid, 0.0)  # also if the remark is unchanged, because its age is not


def _pods_are_missing(entry: Entry) -> bool:
    """Return True if another controller has not made the pods, and may have written why in an Event."""
    run, plan = entry.watched, entry.plan
    if run is None or plan is None or run.kind.virtual or plan.watching.unrun:
        return False
    blocked = entry.record.blocked if entry.record is not None else None
    return blocked is not None and blocked.reason == PODS_MISSING and blocked.gone_at is None


def _unmade_since(entry: Entry) -> float | None:
    """Return since when all pods have a node while one has no volumes or no network; None if no pod lacks them."""
    record = entry.record
    if entry.plan is None or record is None or not record.gathering or record.scheduled_at is None:
        return None
    return record.scheduled_at if _unmade(entry, record) is not None else None


def _unmade(entry: Entry, record: Record) -> Pod | None:
    """Return the pod of the lowest rank that has a node, but no volumes or no network."""
    idle = islice(entry.view.of(record.epoch).idle.values(), LOOKED_AT)
    unmade = (pod for pod in idle if pod.node and not pod.sandboxed and not pod.terminating)
    return min(unmade, key=lambda pod: pod.rank, default=None)


def _secrets(entry: Entry, plan: Plan) -> Secrets:
    if entry.watched is not None:
        return entry.watched.secrets
    return secrets_of(*(group.template.get("spec") for group in plan.groups))


def _parts(entry: Entry, plan: Plan) -> tuple[Part, ...]:
    record, run = entry.record, entry.watched
    if record is None:
        return ()
    if run is not None and _pods_are_missing(entry):
        return run.parts(plan, record.epoch)
    first = _unmade(entry, record)
    return (Part(POD, first.name, first.uid),) if first is not None else ()
