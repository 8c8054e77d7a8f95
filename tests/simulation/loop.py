"""Virtual time: an event loop that never waits.

When nothing is ready, the clock jumps to the next timer; when there is no timer either, nothing can ever happen again,
and that is an error of whoever waits. Threads, executors and sockets are refused, because what they do is not in any
plan. With ``shuffle`` the callbacks that are ready together run in an order drawn from it: whatever is right only by
the order in which the loop happens to call goes wrong under some seed.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from random import Random
from typing import Any, NoReturn

TURNS = 200_000
"""Turns of the loop within one instant after which it is taken for a hot loop."""


class Deadlock(AssertionError):
    """Nothing is ready and no timer runs, but somebody still waits."""


class HotLoop(AssertionError):
    """Callbacks call each other for ever while no time passes."""


class RealWorld(AssertionError):
    """A thread, an executor or a socket was asked for."""


class VirtualLoop(asyncio.BaseEventLoop):
    """``time()`` starts at 0 and is in virtual seconds."""

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self, shuffle: Random | None = None) -> None:
        super().__init__()
        self._selector = self
        self._virtual = 0.0
        self._shuffle = shuffle
        self._turns = 0

    def time(self) -> float:
        return self._virtual

    def select(self, timeout: float | None) -> Sequence[Any]:
        """What ``BaseEventLoop`` asks its selector once per turn; ``timeout`` is 0 while something is ready."""
        if timeout is None:
            waiting = sorted(task.get_name() for task in asyncio.all_tasks(self))
            raise Deadlock(f"nothing is left to wait for at {self._virtual:.3f} s; tasks: {', '.join(waiting)}")
        if timeout > 0:
            self._virtual = self._scheduled[0].when()
            self._turns = 0
        else:
            self._turns += 1
            if self._turns > TURNS:
                raise HotLoop(f"the loop turns without end at {self._virtual:.3f} s")
        if self._shuffle and len(self._ready) > 1:
            ready = list(self._ready)
            self._shuffle.shuffle(ready)
            self._ready.clear()
            self._ready.extend(ready)
        return ()

    def _process_events(self, event_list: Sequence[Any]) -> None:
        """There are none: nothing outside the process is listened to."""

    def _write_to_self(self) -> NoReturn:
        raise RealWorld("a thread wants to wake the loop")

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> NoReturn:  # type: ignore[override]
        raise RealWorld(f"{func} was to run in an executor")

    def _make_socket_transport(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RealWorld("a socket was asked for")
