"""Virtual time: an event loop that never waits.

When nothing is ready, the clock jumps to the next timer. When there is no timer either, nothing can ever happen again:
that is an error (``Deadlock``). Threads, executors and sockets are refused, because no plan controls them. Timers of
the same instant run in the order in which they were set. With ``shuffle``, callbacks that are ready together run in a
random order drawn from it, so that code that depends on the loop's order fails under some seed.

The loop omits what only a loop on real time needs, to make plans cheap: it has no selector and no hooks for threads,
debuggers and signals.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any, NoReturn

Callback = Callable[..., Any]

TURNS = 200_000
"""Iterations within one instant after which the loop is considered hot."""


class Deadlock(AssertionError):
    """No callback is ready and no timer is set, but a task still waits."""


class HotLoop(AssertionError):
    """Callbacks schedule each other forever while no time passes."""


class RealWorld(AssertionError):
    """A thread, an executor or a socket was requested."""


class Call:
    """A scheduled callback (asyncio's ``Handle``)."""

    __slots__ = ("_when", "args", "callback", "context", "off")

    def __init__(self, callback: Callback, args: tuple[Any, ...], context: Context | None, when: float) -> None:
        self.callback = callback
        self.args = args
        self.context = context or copy_context()
        self.off = False
        self._when = when

    def cancel(self) -> None:
        """Do not run it."""
        self.off = True
        self.args = ()

    def cancelled(self) -> bool:
        return self.off

    def when(self) -> float:
        """The virtual second at which it is due."""
        return self._when


class VirtualLoop(asyncio.BaseEventLoop):
    """``time()`` starts at 0 and counts virtual seconds."""

    _ready: deque[Call]
    _stopping: bool

    def __init__(self, shuffle: Random | None = None) -> None:
        super().__init__()
        self._virtual = 0.0
        self._shuffle = shuffle
        self.turns = 0
        """Iterations within the current instant."""
        self._timers: list[tuple[float, int, Call]] = []
        self._order = count()

    def time(self) -> float:
        return self._virtual

    def call_soon(self, callback: Callback, *args: Any, context: Context | None = None) -> Call:  # type: ignore[override]
        call = Call(callback, args, context, self._virtual)
        self._ready.append(call)
        return call

    def call_at(self, when: float, callback: Callback, *args: Any, context: Context | None = None) -> Call:  # type: ignore[override]
        call = Call(callback, args, context, when)
        heappush(self._timers, (when, next(self._order), call))
        return call

    def call_later(self, delay: float, callback: Callback, *args: Any, context: Context | None = None) -> Call:  # type: ignore[override]
        return self.call_at(self._virtual + delay, callback, *args, context=context)

    def _run_once(self) -> None:
        """One iteration (``BaseEventLoop.run_forever`` repeats it)."""
        ready, timers = self._ready, self._timers
        if ready or self._stopping:
            self.turns += 1
            if self.turns > TURNS:
                raise HotLoop(f"the loop iterates without end at {self._virtual:.3f} s")
        else:
            while timers and timers[0][2].off:
                heappop(timers)
            if not timers:
                waiting = sorted(task.get_name() for task in asyncio.all_tasks(self))
                raise Deadlock(f"nothing is left to wait for at {self._virtual:.3f} s; tasks: {', '.join(waiting)}")
            self._virtual = max(self._virtual, timers[0][0])
            self.turns = 0
        while timers and timers[0][0] <= self._virtual:
            ready.append(heappop(timers)[2])
        if self._shuffle and len(ready) > 1:
            calls = list(ready)
            self._shuffle.shuffle(calls)
            ready.clear()
            ready.extend(calls)
        for _ in range(len(ready)):
            call = ready.popleft()
            if call.off:
                continue
            try:
                call.context.run(call.callback, *call.args)
            except Exception as error:  # noqa: BLE001 - the exception handler of the loop reports it
                self.call_exception_handler({"message": f"{call.callback} failed", "exception": error})

    def close(self) -> None:
        self._timers.clear()
        super().close()

    def _write_to_self(self) -> NoReturn:
        raise RealWorld("a thread tried to wake the loop")

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> NoReturn:  # type: ignore[override]
        raise RealWorld(f"{func} was submitted to an executor")

    def _make_socket_transport(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RealWorld("a socket was requested")
