"""The elector: makes this daemon a leader or a standby, by a Lease. The rules are in ``rules`` beside it.

::

    standing by ──takes the Lease──▶ leading ──▶ (renews every ``retry`` seconds)
         ▲                             │
         ╰── work ended, fence shut ───╯  another holds the Lease, or it could not be renewed until ``give_up_at``

An attempt is a read where one is needed, and a write; the whole of it has a time limit of its own, whatever the
transport makes of timeouts. A leader writes without reading first, under the resourceVersion of its last write, and
reads again only when it does not know what became of that. A lost leadership is no end of the process: caches stay
warm, and the daemon stands for election again.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any, NoReturn

import structlog

from muster.api.errors import AlreadyExists, ApiError, Conflict, NotFound
from muster.api.values.printable import WORD, clean
from muster.kube.leaderelection.fence import Fence
from muster.kube.leaderelection.lease import Leases
from muster.kube.leaderelection.rules import ElectionState, Terms

log = structlog.get_logger()

ROUNDS = 3
"""How often one attempt looks again because somebody else wrote in between."""

Lead = Callable[[], Coroutine[Any, Any, None]]
"""The work of a leader: runs until it is cancelled, and has ended all of it when it returns."""


class Elector:
    """``run`` is the task that stands for election; ``fence`` is open while this daemon leads.

    ``identity`` must be no other daemon's, ever. ``monotonic`` should run on while the machine is suspended.
    """

    def __init__(
        self, leases: Leases, identity: str, terms: Terms, *, monotonic: Callable[[], float], random: Random
    ) -> None:
        self.identity = identity
        self.terms = terms
        self.fence = Fence(monotonic)
        self.transitions: Counter[str] = Counter()
        """How often this daemon became leader (``acquired``) and ceased to be one: ``ousted``, ``expired``,
        ``resigned``."""
        self._leases = leases
        self._monotonic = monotonic
        self._random = random
        self._candidacy = ElectionState(identity, terms)
        self._uncertain = True
        """The Lease has to be read before it is written."""
        self._complaint = ""

    @property
    def leading(self) -> bool:
        """This daemon may write."""
        return self.fence.open

    @property
    def holder(self) -> str:
        """Who holds the Lease, as far as is known here and fit to be shown; empty if nobody does."""
        lease = self._candidacy.lease
        return clean(lease.holder, WORD) if lease else ""

    @property
    def renewal_age(self) -> float | None:
        """Seconds since the last successful renewal was sent; None while another leads."""
        return self._monotonic() - self._candidacy.renewed_at if self.leading else None

    async def run(self, lead: Lead) -> NoReturn:
        """Stand for election until cancelled; ``lead`` runs while this daemon leads. Raises what ``lead`` raises."""
        while True:
            await self._campaign()
            await self._reign(lead)

    async def resign(self) -> None:
        """Let go of the Lease, so that another leads at once. For after the end of ``run``, and of all work.

        Without an answer from the API server the others wait until the Lease runs out; nothing is raised.
        """
        try:
            async with asyncio.timeout(self.terms.attempt):
                released = await self._release()
        except (ApiError, TimeoutError) as error:
            log.warning("the lease could not be released; it runs out by itself", problem=_said(error))
        else:
            if released:
                self.transitions["resigned"] += 1
                log.info("leadership handed over", lease=self._leases.name)

    async def _release(self) -> bool:
        """Release the Lease if it is ours. A renewal cancelled on its way may still arrive in between."""
        while True:
            lease = await self._leases.read()
            self._candidacy.saw(lease, self._monotonic())
            if lease is None or not self._candidacy.may_release(self._monotonic()):
                return False
            with contextlib.suppress(Conflict):
                await self._leases.release(lease)
                return True

    async def _campaign(self) -> None:
        """Stand by until the Lease is ours."""
        holder = None
        while True:
            self._uncertain = True
            if await self._try(self.terms.attempt) and self._candidacy.leads(self._monotonic()):
                return
            if self.holder != holder and not self._complaint:
                holder = self.holder
                log.info("standing by", leader=holder or None, identity=self.identity)
            await asyncio.sleep(self._pause(self._candidacy.turn_at))

    async def _reign(self, lead: Lead) -> None:
        """Lead until the Lease is lost; when this returns or raises, the work has ended."""
        self.transitions["acquired"] += 1
        log.info("leading", lease=self._leases.name, identity=self.identity)
        self.fence.open_until(self._candidacy.fenced_at)
        work = asyncio.create_task(lead(), name="leading")
        lost = ""
        try:
            while not lost:
                await asyncio.wait([work], timeout=self._pause(self._candidacy.give_up_at))
                if work.done():
                    work.result()
                    raise RuntimeError("the leader's work ended by itself")
                lost = await self._renew()
        finally:
            self.fence.close()
            self._candidacy.deposed()
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
        if not work.cancelled():
            work.result()
        self.transitions[lost] += 1
        log.warning("leadership lost", why=lost, leader=self.holder or None, identity=self.identity)

    async def _renew(self) -> str:
        """One attempt to stay leader; the reason why we are none any more, empty if we are."""
        remaining = self._candidacy.give_up_at - self._monotonic()
        if remaining > 0 and await self._try(min(self.terms.attempt, remaining)):
            self.fence.open_until(self._candidacy.fenced_at)
        if self._candidacy.ousted:
            return "ousted"
        return "" if self._candidacy.leads(self._monotonic()) else "expired"

    async def _try(self, limit: float) -> bool:
        """One attempt at the Lease: whether our write was accepted."""
        try:
            async with asyncio.timeout(limit):
                held = await self._attempt()
        except (ApiError, TimeoutError) as error:
            self._complain(_said(error))
            return False
        self._complain("")
        return held

    async def _attempt(self) -> bool:
        error: ApiError | None = None
        for _ in range(ROUNDS):
            if self._uncertain:
                seen = await self._leases.read()
                self._candidacy.saw(seen, self._monotonic())
            if not self._candidacy.may_hold(self._monotonic()):
                return False
            sent = self._monotonic()
            self._uncertain = True  # until the answer tells what became of it
            try:
                kept = await self._leases.hold(self._candidacy.lease, self.identity, self.terms.duration)
            except (AlreadyExists, Conflict, NotFound) as refused:
                error = refused
                continue
            self._candidacy.kept(kept, sent, self._monotonic())
            self._uncertain = False
            return True
        assert error is not None
        raise error

    def _pause(self, until: float) -> float:
        """A retry period, shortened at random so that daemons do not write in step; less, if ``until`` comes before."""
        period = self.terms.retry * self._random.uniform(0.8, 1.0)
        remaining = until - self._monotonic()
        return min(period, remaining) if remaining > 0 else period

    def _complain(self, problem: str) -> None:
        """Tell of trouble once, and of its end."""
        if problem and not self._complaint:
            log.warning("the lease cannot be read or renewed; trying again", lease=self._leases.name, problem=problem)
        elif self._complaint and not problem:
            log.info("the lease can be read and written again", lease=self._leases.name)
        self._complaint = problem


def _said(error: Exception) -> str:
    return str(error) or "no answer in time"
