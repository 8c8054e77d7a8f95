"""Several machines in one virtual world. Each has an event loop and clocks of its own, and can be stopped or killed.

The world's time is the true one. A machine's monotonic clock advances while the machine is stopped, as after SIGSTOP:
its timers are then late, and its answers wait. ``Cable`` connects a machine to the API server in memory.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from enum import Enum
from heapq import heappop, heappush
from itertools import count
from math import inf
from random import Random
from typing import Any

from muster.api.errors import ApiError, Unreachable
from muster.kube.transport import Answer
from tests.fakes.api import FakeApi

WORK = "/work"
"""The path of a write without effect, which is not sent to the server."""


class World:
    """``now`` is in true seconds. ``watch`` is called after every instant in which something happened."""

    def __init__(self, random: Random, watch: Callable[[], None] = lambda: None) -> None:
        self.now = 0.0
        self.random = random
        self.api = FakeApi(lambda: self.now)
        self.machines: list[Machine] = []
        self.watch = watch
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def after(self, seconds: float, do: Callable[[], None]) -> None:
        """Call ``do`` later, whatever any machine does."""
        heappush(self._events, (self.now + seconds, next(self._numbers), do))

    def run(self, seconds: float, until: Callable[[], bool] = lambda: False) -> float:
        """Let time pass until ``seconds`` are over or ``until`` holds; returns the seconds that passed."""
        began, end = self.now, self.now + seconds
        while True:
            alive = [machine for machine in self.machines if not (machine.stopped or machine.killed)]
            while sum(machine.turn() for machine in alive):
                pass
            self.watch()
            if until():
                break
            due = min((machine.due for machine in alive), default=inf)
            due = min(due, self._events[0][0] if self._events else inf)
            if due > end:
                self.now = end
                break
            self.now = max(self.now, due)
            while self._events and self._events[0][0] <= self.now:
                heappop(self._events)[2]()
        return self.now - began

    def close(self) -> None:
        """Cancel every task on every machine."""
        for machine in self.machines:
            machine.close()


class Machine:
    """One machine. ``offset`` and ``rate`` relate its monotonic clock to the world's time."""

    def __init__(self, world: World, *, offset: float = 0.0, rate: float = 1.0) -> None:
        self.world = world
        self.stopped = False
        self.killed = False
        self.loop = _Loop(self)
        self.cable = Cable(self)
        self._offset = offset
        self._rate = rate
        world.machines.append(self)

    def clock(self) -> float:
        """Its monotonic clock."""
        return self._offset + self.world.now * self._rate

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start a task on it."""
        return self.loop.create_task(work)

    def kill(self) -> None:
        """SIGKILL or power loss: nothing runs on it any more."""
        self.killed = True

    @property
    def due(self) -> float:
        """The world's time at which it has something to do next."""
        return max(0.0, (self.loop.due - self._offset) / self._rate)

    def turn(self) -> bool:
        """Run one iteration of its loop, if something is due."""
        if self.killed or self.loop.due > self.clock():
            return False
        self.loop.turn()
        return True

    def close(self) -> None:
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        while asyncio.all_tasks(self.loop):
            self.loop.turn()
        self.loop.close()


class _Loop(asyncio.BaseEventLoop):
    """A loop that never waits; its machine decides its time and its iterations."""

    _ready: Sequence[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self._machine = machine
        self._selector = self
        self._clock_resolution = 1e-6

    def time(self) -> float:
        return self._machine.clock()

    @property
    def due(self) -> float:
        if self._ready:
            return -inf
        while self._scheduled and self._scheduled[0].cancelled():
            heappop(self._scheduled)._scheduled = False  # type: ignore[attr-defined]
            self._timer_cancelled_count -= 1  # type: ignore[attr-defined]
        return self._scheduled[0].when() if self._scheduled else inf

    def turn(self) -> None:
        self.call_soon(self.stop)
        self.run_forever()

    def select(self, timeout: float | None) -> Sequence[Any]:
        return ()

    def _process_events(self, event_list: Sequence[Any]) -> None:
        """There are no I/O events."""

    def _write_to_self(self) -> None:
        """The loop never sleeps, so there is nothing to wake."""


class Mode(Enum):
    """What happens to requests."""

    FINE = "carried out and answered"
    REFUSED = "refused at once"
    LOST = "lost on the way"
    UNANSWERED = "carried out, but the answer is lost"
    LATE = "carried out some time later, and not answered"


class Cable:
    """The machine's ``Transport``. ``sent`` holds the time of every request, by method and path."""

    def __init__(self, machine: Machine) -> None:
        self.mode = Mode.FINE
        self.latency = 0.005
        self.sent: list[tuple[float, str]] = []
        self.on_send: Callable[[str, str], None] = lambda method, path: None
        self._machine = machine

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        timeout: float | None = None,
    ) -> Answer:
        machine, world = self._machine, self._machine.world
        self.sent.append((world.now, f"{method} {path}"))
        self.on_send(method, path)
        answer: asyncio.Future[Answer] = machine.loop.create_future()
        mode, latency = self.mode, self.latency

        def deliver(result: Answer | ApiError) -> None:
            if answer.done():
                return
            if isinstance(result, ApiError):
                answer.set_exception(result)
            else:
                answer.set_result(result)

        def carry_out() -> None:
            real = path != WORK
            result = _at_once(world.api.request(method, path, params=params, body=body)) if real else Answer(201, b"")
            if mode is Mode.FINE:
                world.after(latency * world.random.uniform(0.5, 1.5), lambda: deliver(result))

        if mode is Mode.REFUSED:
            world.after(0.001, lambda: deliver(Unreachable("refused", reason="Connect")))
        elif mode is not Mode.LOST:
            late = world.random.uniform(0.0, 3.0) if mode is Mode.LATE else 0.0
            world.after(late + latency * world.random.uniform(0.5, 1.5), carry_out)
        try:
            async with asyncio.timeout(30.0 if timeout is None else timeout):
                return await answer
        except TimeoutError:
            raise Unreachable("no answer", reason="Timeout") from None

    def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise AssertionError("this transport has no watches")


def _at_once(request: Coroutine[Any, Any, Answer]) -> Answer | ApiError:
    """The server's answer, without a loop: the coroutine never really waits."""
    try:
        while True:
            request.send(None)
    except StopIteration as end:
        answer: Answer = end.value
        return answer
    except ApiError as error:
        return error
