"""The elector makes this daemon the leader or a standby, by a Lease. Its rules are in ``rules``.

::

    standing by ──takes the Lease──▶ leading ──▶ (renews every ``retry`` seconds)
         ▲                             │
         ╰── work ended, fence shut ───╯  another holds the Lease, or it could not be renewed until ``give_up_at``

An attempt is a read if one is needed, and a write, with a time limit for both together. A leader writes without a read,
under the resourceVersion of its last write, and reads again only when the result of that write is unknown. A daemon
that loses the leadership keeps running with warm caches, and tries to acquire the Lease again.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from math import inf
from random import Random
from typing import Any, NoReturn

import structlog

from muster.api.errors import AlreadyExists, ApiError, Conflict, NotFound, Unreachable
from muster.api.values.printable import WORD, clean
from muster.kube.cancellation import cancel_and_wait
from muster.kube.leaderelection.lease import Leases
from muster.kube.leaderelection.rules import ElectionState, Terms


class Fenced(ApiError):
    """A request that was not sent, because this daemon does not lead."""


class Fence:
    """A fence that is open until an instant of ``monotonic``; closed at first. ``passing`` is for ``Around``.

    A writer's request is sent only while this process leads. The instant at which the fence closes is fixed when the
    Lease is renewed, and every request is checked against the clock when it is sent. So a process that was suspended
    (SIGSTOP, a frozen virtual machine) and resumes in the middle of its work sends nothing, although none of its tasks
    knows yet how late it is. Requests under way when the fence closes are cancelled, including those that the transport
    would send again. Watches do not go through the fence: a standby keeps its caches warm.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._until = -inf
        self._inside: set[asyncio.Timeout] = set()

    @property
    def open(self) -> bool:
        """True while requests may be sent."""
        return self._monotonic() < self._until

    def open_until(self, instant: float) -> None:
        """Let requests start and continue until that instant."""
        self._until = instant
        closes = self._closes()
        for limit in self._inside:
            if not limit.expired():
                limit.reschedule(closes)

    def close(self) -> None:
        """Let no request pass from now on, and cancel those in progress."""
        self.open_until(-inf)

    @asynccontextmanager
    async def passing(self, method: str, path: str) -> AsyncIterator[None]:
        """Enter the context of a request. Raises ``Fenced``, or ``Unreachable`` if the fence closes meanwhile."""
        request = f"{method} {path}"
        if not self.open:
            raise Fenced("not sent: this daemon does not lead at the moment", reason="NotLeading", request=request)
        try:
            async with asyncio.timeout_at(self._closes()) as limit:
                self._inside.add(limit)
                try:
                    yield
                finally:
                    self._inside.discard(limit)
        except TimeoutError as error:
            raise Unreachable(
                "cancelled: this daemon stopped leading before the answer came",
                reason="NotLeading",
                request=request,
            ) from error

    def _closes(self) -> float:
        """Return when it closes, on the clock of the event loop, which may differ from ``monotonic``."""
        return asyncio.get_running_loop().time() + max(0.0, self._until - self._monotonic())


log = structlog.get_logger()

ROUNDS = 3
"""Most reads of the Lease in one attempt, after conflicts."""

MOST_LOGGED = 8
"""Most problems that are logged of one outage."""

Lead = Callable[[], Coroutine[Any, Any, None]]
"""The work of a leader: runs until it is cancelled, and returns when all of it has ended."""


class Elector:
    """``run`` is the task that acquires and renews the Lease; ``fence`` is open while this daemon leads.

    ``identity`` must be unique to this process. ``monotonic`` should count while the machine is suspended.
    """

    def __init__(
        self, leases: Leases, identity: str, terms: Terms, *, monotonic: Callable[[], float], random: Random
    ) -> None:
        self.identity = identity
        self.terms = terms
        self.fence = Fence(monotonic)
        self.transitions: Counter[str] = Counter()
        """Number of changes: this daemon became leader (``acquired``), or stopped because another holds the Lease
        (``ousted``), it was not renewed in time (``expired``), or it was released (``resigned``)."""
        self._leases = leases
        self._monotonic = monotonic
        self._random = random
        self._state = ElectionState(identity, terms)
        self._uncertain = True
        """True if the Lease has to be read before it is written."""
        self.problem = ""
        """The reason why the last attempt at the Lease failed; empty if it did not."""
        self._logged: set[str] = set()
        """The messages of the problems that were logged since an attempt succeeded."""

    @property
    def leading(self) -> bool:
        """True while this daemon may write."""
        return self.fence.open

    @property
    def holder(self) -> str:
        """The holder of the Lease as last read, printable; empty if it has none."""
        lease = self._state.lease
        return clean(lease.holder, WORD) if lease else ""

    @property
    def leader_address(self) -> str:
        """The addresses of the Lease's holder as last read; empty if they are not known."""
        lease = self._state.lease
        return clean(lease.address, WORD) if lease and lease.holder else ""

    @property
    def sees_leader(self) -> bool:
        """True while another daemon holds and renews the Lease: it changed less than a duration ago, as last read."""
        return self._state.ousted and self._monotonic() < self._state.free_at

    @property
    def _leader(self) -> str | None:
        """The other daemon that leads, as last read; None if none does."""
        return self.holder if self._state.ousted else None

    @property
    def waits(self) -> bool:
        """True while an earlier leader may not know yet that this daemon has created the Lease."""
        return self._monotonic() < self._state.leads_from

    @property
    def renewal_age(self) -> float | None:
        """Seconds since the last successful renewal was sent; None while another leads."""
        return self._monotonic() - self._state.renewed_at if self.leading else None

    async def run(self, lead: Lead) -> NoReturn:
        """Acquire and renew the Lease until cancelled; run ``lead`` while leading. Raises what ``lead`` raises."""
        while True:
            await self._acquire()
            await self._hold(lead)

    async def resign(self) -> None:
        """Release the Lease, so that another daemon leads at once. Call it after the end of ``run`` and of all work.

        Without an answer from the API server the Lease runs out instead; nothing is raised.
        """
        try:
            async with asyncio.timeout(self.terms.attempt):
                released = await self._release()
        except (ApiError, TimeoutError) as error:
            log.warning("the lease could not be released; it runs out by itself", problem=_text_of(error))
        else:
            if released:
                self.transitions["resigned"] += 1
                log.info("leadership handed over", lease=self._leases.name)

    async def _release(self) -> bool:
        """Release the Lease if this daemon holds it. A cancelled renewal may still arrive in between."""
        while True:
            lease = await self._leases.read()
            self._state.saw(lease, self._monotonic())
            if lease is None or not self._state.may_release(self._monotonic()):
                return False
            with contextlib.suppress(Conflict):
                await self._leases.release(lease)
                return True

    async def _acquire(self) -> None:
        """Wait as a standby until this daemon holds the Lease."""
        holder = None
        while True:
            self._uncertain = True
            if await self._try(self.terms.attempt) and self._state.leads(self._monotonic()):
                return
            if self.holder != holder and not self.problem:
                holder = self.holder
                log.info("standing by", leader=self._leader, identity=self.identity)
            await asyncio.sleep(self._pause(self._state.turn_at))

    async def _hold(self, lead: Lead) -> None:
        """Lead until the Lease is lost; the work has ended when this returns or raises."""
        self.transitions["acquired"] += 1
        log.info("leading", lease=self._leases.name, identity=self.identity)
        self.fence.open_until(self._state.fenced_at)
        work = asyncio.create_task(lead(), name="leading")
        lost = ""
        try:
            while not lost:
                await asyncio.wait([work], timeout=self._pause(self._state.give_up_at))
                if work.done():
                    work.result()
                    raise RuntimeError("the leader's work ended by itself")
                lost = await self._renew()
        finally:
            self.fence.close()
            self._state.stop_leading()
            await cancel_and_wait(work)
        if not work.cancelled():
            work.result()
        self.transitions[lost] += 1
        log.warning("leadership lost", why=lost, leader=self._leader, identity=self.identity)

    async def _renew(self) -> str:
        """Try to renew once. Return the reason why the leadership is lost, empty if it is not."""
        remaining = self._state.give_up_at - self._monotonic()
        if remaining > 0 and await self._try(min(self.terms.attempt, remaining)):
            self.fence.open_until(self._state.fenced_at)
        if self._state.ousted:
            return "ousted"
        return "" if self._state.leads(self._monotonic()) else "expired"

    async def _try(self, limit: float) -> bool:
        """Try the Lease once. Return True if the write was accepted."""
        try:
            async with asyncio.timeout(limit):
                held = await self._attempt()
        except (ApiError, TimeoutError) as error:
            self._note_problem(error)
            return False
        if self._logged:
            log.info("the lease can be read and written again", lease=self._leases.name)
            self._logged.clear()
        self.problem = ""
        return held

    async def _attempt(self) -> bool:
        error: ApiError | None = None
        for _ in range(ROUNDS):
            if self._uncertain:
                seen = await self._leases.read()
                self._state.saw(seen, self._monotonic())
            if not self._state.may_hold(self._monotonic()):
                return False
            sent = self._monotonic()
            self._uncertain = True  # until the answer shows the result
            try:
                kept = await self._leases.hold(self._state.lease, self.identity, self.terms.duration)
            except (AlreadyExists, Conflict, NotFound) as refused:
                error = refused
                continue
            self._state.kept(kept, sent, self._monotonic())
            self._uncertain = False
            return True
        assert error is not None
        raise error

    def _pause(self, until: float) -> float:
        """Return a retry period, randomly shortened so that daemons do not write in step; at most until ``until``."""
        period = self.terms.retry * self._random.uniform(0.8, 1.0)
        remaining = until - self._monotonic()
        return min(period, remaining) if remaining > 0 else period

    def _note_problem(self, error: ApiError | TimeoutError) -> None:
        """Log each problem of an outage once, whichever request has it."""
        self.problem = _text_of(error)
        message = error.message if isinstance(error, ApiError) else self.problem
        if message not in self._logged and len(self._logged) < MOST_LOGGED:
            self._logged.add(message)
            log.warning(
                "the lease cannot be read or renewed; trying again", lease=self._leases.name, problem=self.problem
            )


def _text_of(error: Exception) -> str:
    return str(error) or "no answer in time"
