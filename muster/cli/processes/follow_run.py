"""One experiment from its submission to its end, as somebody follows it who sits before the terminal."""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp

from muster.api.errors import ApiError, MusterError
from muster.api.status import Cause
from muster.api.values.humanize import age
from muster.api.values.printable import printable
from muster.cli.commands.explain import cause_sentence
from muster.cli.processes.interrupts import Interrupts
from muster.cli.terminal.colours import plain
from muster.cli.terminal.display import Display
from muster.cli.terminal.rollcall import ask
from muster.client import Client, NoSuchExperiment, Snapshot, Vanished

ROLL_SECONDS = 0.5
"""Between two looks at the daemon's roll call. It is a display; what is decided never depends on it."""
CANCEL_SECONDS = 10.0
"""How long a cancelled experiment is awaited before everything is taken down."""
LOG_SECONDS = 3.0
"""How long the last lines of the log are awaited after the end."""
FOLLOWED = 32
"""The largest gang whose every rank is followed; of a larger one only rank 0."""
REMEMBERED = 20
"""Last lines of a quiet rank, which are shown if it is the one that fails."""


class Running:
    """Follows ``seen`` on ``display``.

    ``supervise`` waits for the end of what the experiment stands on, if we started it.
    """

    def __init__(
        self,
        client: Client,
        seen: Snapshot,
        size: int,
        daemon_url: str,
        display: Display,
        supervise: Callable[[], Awaitable[None]] | None,
    ) -> None:
        self._client = client
        self._seen = seen
        self._ranks = () if size <= FOLLOWED else (0,)
        self._daemon_url = daemon_url
        self._display = display
        self._supervise = supervise
        self._loud = {0}
        self._quiet: dict[int, deque[str]] = {}
        self._cause: Cause | None = None
        self._began = time.monotonic()

    async def to_the_end(self, interrupts: Interrupts) -> Snapshot:
        """Return the experiment when it has finished, or as it is after an interruption.

        Raises ``ChildEnded`` if cluster or daemon end before it, ``Vanished`` if it is deleted.
        """
        watch = asyncio.create_task(self._watch(), name="run-watch")
        logs = asyncio.create_task(self._logs(), name="run-logs")
        roll = asyncio.create_task(self._roll(), name="run-roll")
        tasks: list[asyncio.Task[Any]] = [watch, logs, roll]
        deciding: list[asyncio.Task[Any]] = [watch]
        if self._supervise is not None:
            deciding.append(asyncio.create_task(_awaiting(self._supervise()), name="run-supervise"))
            tasks.append(deciding[-1])
        try:
            if not await self._first(deciding, interrupts, None):
                await self._cancel()
                await self._first(deciding, interrupts, CANCEL_SECONDS)
            if self._seen.finished:
                await asyncio.wait({logs}, timeout=LOG_SECONDS)
            return self._seen
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def epitaph(self) -> str:
        """How it ended, in one sentence."""
        seen, status = self._seen, self._seen.status
        if not seen.finished:
            return f"{seen.name} was left as {seen.phase or 'Submitted'}"
        began, ended = status.started_at, status.finished_at
        took = ended - began if began is not None and ended is not None else time.monotonic() - self._began
        restarts = f", {status.restarts} restart{'s' if status.restarts > 1 else ''}" if status.restarts else ""
        return printable(f"{seen.name} {seen.phase} after {age(took)}{restarts}: {seen.message or seen.reason}")

    async def _first(self, deciding: list[asyncio.Task[Any]], interrupts: Interrupts, seconds: float | None) -> bool:
        """Wait for whichever task comes first; False where a signal did. Raises what the task raised."""
        signalled = asyncio.create_task(interrupts.next(), name="run-interrupt")
        try:
            done, _ = await asyncio.wait({*deciding, signalled}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            for task in deciding:
                if task in done:
                    task.result()
                    return True
            return False
        finally:
            signalled.cancel()
            await asyncio.gather(signalled, return_exceptions=True)

    async def _cancel(self) -> None:
        self._display.say(f"cancelling {self._seen.name}; interrupt again to stop without waiting")
        try:
            async with asyncio.timeout(CANCEL_SECONDS):
                await self._client.cancel(self._seen.name, namespace=self._seen.namespace)
        except (ApiError, NoSuchExperiment, TimeoutError) as error:
            self._display.say(plain(f"it could not be cancelled: {error}"))

    async def _watch(self) -> None:
        changes = self._client.watch(self._seen.name, namespace=self._seen.namespace)
        async with contextlib.aclosing(changes) as stream:
            async for change in stream:
                if change.kind == "DELETED":
                    raise Vanished(f"experiment {self._seen.namespace}/{self._seen.name} was deleted while it ran")
                self._take(change.experiment)
                if self._seen.finished:
                    return

    def _take(self, seen: Snapshot) -> None:
        self._seen = seen
        self._display.see(seen)
        if seen.phase in ("Assembling", "Running"):
            self._loud = {0}
        cause = seen.status.cause
        if cause is not None and cause != self._cause:
            self._cause = cause
            self._display.say(f"epoch {cause.epoch} ended because {cause_sentence(cause)}")
            if cause.rank >= 0 and cause.rank not in self._loud:
                self._loud.add(cause.rank)
                for line in self._quiet.pop(cause.rank, ()):
                    self._display.log(cause.rank, line)

    async def _logs(self) -> None:
        lines = self._client.logs(self._seen.name, self._ranks, follow=True, namespace=self._seen.namespace)
        try:
            async with contextlib.aclosing(lines) as stream:
                async for rank, line in stream:
                    if rank in self._loud:
                        self._display.log(rank, line)
                    else:
                        self._quiet.setdefault(rank, deque(maxlen=REMEMBERED)).append(line)
        except MusterError as error:
            self._display.say(plain(f"the log cannot be followed any further: {error}"))

    async def _roll(self) -> None:
        if not self._daemon_url:
            return
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2)) as session:
            while True:
                found = await ask(session, self._daemon_url, self._seen.namespace, self._seen.name)
                if found is not None:
                    self._display.observe_probe(found)
                await asyncio.sleep(ROLL_SECONDS)


async def _awaiting(work: Awaitable[None]) -> None:
    await work
