"""Asks NCCL's RAS now and then, beside the probe of the coordinator: any process of the gang answers for all of them.

It is asked in the background: RAS itself waits for up to ten seconds for a process that has stopped, and the roll does
not wait for that. Where one process does not answer, the next one is asked.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from muster.state.view.recorder.ras_answer import RasAnswer
from muster.watchers.probes.bounded.connection import Address, Guard
from muster.watchers.probes.bounded.metered import metered
from muster.watchers.probes.nccl.question import NoRas, ask

PAUSE: Final = 6.0
"""Seconds between the beginnings of two questions."""
LONG_PAUSE: Final = 60.0
"""The same after ``FORGET`` seconds without an answer: there may be no RAS."""
REST: Final = 2.0
"""An answer that took long puts the next question off, by so many times as long."""
FORGET: Final = 60.0
"""Seconds without an answer after which the last one counts no more."""


class RasProbe:
    """Asks the RAS of one gang."""

    def __init__(self, ask: Callable[[Address, Guard], Awaitable[RasAnswer]] = ask) -> None:
        self.why = ""
        """Why the last question had no answer; empty where it had one, or none was asked."""
        self._ask = ask
        self._asking: asyncio.Task[RasAnswer] | None = None
        self._guards: dict[str, Guard] = {}
        self._next = 0
        self._began = self._due = 0.0
        self._heard: float | None = None

    def answer(self, addresses: Sequence[str]) -> RasAnswer | None:
        """What has been had since the last call, if anything; begins the next question when it is time.

        ``addresses`` are those of some processes, as "ip:port". From ``FORGET`` seconds after the last answer, or the
        first question, on it is one without a communicator.
        """
        now = _monotonic()
        found = self._had(now) if self._asking is not None and self._asking.done() else None
        if self._asking is None and addresses and now >= self._due:
            self._began = now
            self._heard = now if self._heard is None else self._heard
            address = addresses[self._next % len(addresses)]
            self._asking = asyncio.create_task(metered(self._asked(address)), name=f"ask RAS at {address}")
        return RasAnswer() if found is None and self._silent(now) else found

    async def close(self) -> None:
        """End the question that has no answer yet."""
        asking, self._asking = self._asking, None
        if asking is not None:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    async def _asked(self, text: str) -> RasAnswer:
        address = Address.parse(text)
        return await self._ask(address, self._guards.setdefault(address.host, Guard()))

    def _had(self, now: float) -> RasAnswer | None:
        """What the question that is over has brought."""
        asked, self._asking = self._asking, None
        assert asked is not None
        try:
            found = asked.result()
        except NoRas as error:
            self.why, self._next = str(error), self._next + 1
            self._due = self._began + (LONG_PAUSE if self._silent(now) else PAUSE)
            return None
        self.why, self._heard = "", now
        self._due = self._began + max(PAUSE, REST * (now - self._began))
        return found

    def _silent(self, now: float) -> bool:
        """It has not answered for so long that what it said counts no more."""
        return self._heard is not None and now - self._heard > FORGET


def _monotonic() -> float:
    return asyncio.get_running_loop().time()
