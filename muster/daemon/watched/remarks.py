"""Reads the reasons that controllers give for pods that they do not make, while these are missing.

One request is under way at a time, and each run is asked about at most once in ``PACE`` seconds. Muster works without
the right to list Events: a namespace that refuses it is asked again after ``REFUSED`` seconds, and the sentence of the
run names what is lacking.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from muster.api.errors import ApiError, Forbidden
from muster.kube.transport import Transport
from muster.state.policies.watched.obstacles import PODS_MISSING
from muster.state.view.own.remark import Remark
from muster.tracking.entry import Entry
from muster.tracking.watched_run import WatchedRun
from muster.watchers.remarks import read_remark

log = structlog.get_logger()

PACE: Final = 30.0
"""Seconds between two reads for one run."""
SOON: Final = 0.1
"""Seconds before its time at which a read is due: timers are not exact."""
REFUSED: Final = 600.0
"""Seconds for which a refusal of a namespace is remembered."""
MOST_NAMESPACES: Final = 10_000
UNREADABLE: Final = (
    "why may be in its Events, which musterd may not read: grant it list on events (watch.events of the chart)"
)


class RemarkReader:
    """``again`` lets a run be decided upon after that many seconds. ``clock`` gives wall seconds."""

    def __init__(
        self,
        transport: Transport,
        again: Callable[[str, float], None],
        clock: Callable[[], float],
        unreadable: str = UNREADABLE,
    ) -> None:
        """``unreadable`` is said where Events may not be listed."""
        self._unreadable = unreadable
        self._transport = transport
        self._again = again
        self._clock = clock
        self._wanted: dict[str, tuple[Entry, WatchedRun]] = {}
        """By uid, in the order in which they are read."""
        self._ready = asyncio.Event()
        self._refused: dict[str, float] = {}
        """By namespace, when it refused."""

    def follow(self, entry: Entry, run: WatchedRun) -> None:
        """Have it read if the pods of the run are missing; else forget what was read."""
        plan, record = entry.plan, entry.record
        blocked = record.blocked if record is not None else None
        missing = blocked is not None and blocked.reason == PODS_MISSING and blocked.gone_at is None
        if plan is None or run.kind.virtual or plan.watching.unrun or not missing:
            entry.view.remark, entry.view.remark_problem = None, ""
            self._wanted.pop(entry.seen.uid, None)
            return
        wait = PACE - (self._clock() - run.heard_at) if run.heard_at is not None else 0.0
        if SOON < wait <= PACE:  # else it is due, or the clock was set
            self._again(entry.seen.uid, wait)
        else:
            self._wanted[entry.seen.uid] = entry, run
            self._ready.set()

    def forget(self) -> None:
        """Read nothing of what was asked for: this daemon does not lead any more."""
        self._wanted.clear()

    async def run(self) -> None:
        """Read for one run after the other."""
        while True:
            await self._ready.wait()
            if not self._wanted:
                self._ready.clear()
                continue
            uid = next(iter(self._wanted))
            await self._read(uid, *self._wanted.pop(uid))

    async def _read(self, uid: str, entry: Entry, run: WatchedRun) -> None:
        plan, view, namespace = entry.plan, entry.view, entry.seen.namespace
        run.heard_at = now = self._clock()
        refused_at = self._refused.get(namespace)
        if plan is None or (refused_at is not None and 0.0 <= now - refused_at < REFUSED):
            self._take(uid, entry, view.remark, self._unreadable if plan is not None else "")
            return
        parts = run.parts(plan, entry.record.epoch if entry.record is not None else 0)
        try:
            found = await read_remark(self._transport, namespace, parts, since=run.created, secrets=run.secrets)
        except Forbidden as error:
            if len(self._refused) >= MOST_NAMESPACES:
                self._refused.clear()
            self._refused[namespace] = now
            log.info("Events may not be read", namespace=namespace, problem=str(error))
            self._take(uid, entry, None, self._unreadable)
        except ApiError as error:  # what was read before stays, with its age
            log.info("Events were not read", namespace=namespace, object=entry.title, problem=str(error))
            self._again(uid, PACE)
        else:
            self._refused.pop(namespace, None)
            self._take(uid, entry, found, "")

    def _take(self, uid: str, entry: Entry, found: Remark | None, problem: str) -> None:
        entry.view.remark, entry.view.remark_problem = found, problem
        self._again(uid, 0.0)  # also where it is the same: its age is not
