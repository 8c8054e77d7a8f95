"""The work queue in virtual time: which key is processed when, by which worker, and how often."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from functools import wraps
from typing import Any

import pytest

from muster.kube.workqueue import WorkQueue
from tests.simulation.world.virtual_loop import VirtualLoop


class Turns(Coroutine[Any, Any, None]):
    """A coroutine, and how often the loop let it run."""

    def __init__(self, inner: Coroutine[Any, Any, None]) -> None:
        self.turns = 0
        self._inner = inner

    def send(self, value: Any) -> Any:
        self.turns += 1
        return self._inner.send(value)

    def throw(self, *error: Any) -> Any:
        return self._inner.throw(*error)

    def close(self) -> None:
        self._inner.close()

    def __await__(self) -> Iterator[Any]:  # type: ignore[override]
        return self._inner.__await__()


class Shop:
    """A queue, its workers, and what they did. Work takes one second, or fails if the key is poisoned."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.queue = WorkQueue(self.waits.append)
        self.done: list[tuple[float, str]] = []
        self.poisoned: dict[str, float | None] = {}
        self.workers: list[asyncio.Task[None]] = []
        self.turns: list[Turns] = []

    def hire(self, number: int) -> None:
        for _ in range(number):
            self.turns.append(Turns(self.queue.work(self._do, self._failed)))
            self.workers.append(asyncio.create_task(self.turns[-1]))

    async def dismiss(self, number: int) -> None:
        for worker in self.workers[:number]:
            worker.cancel()
            with suppress(asyncio.CancelledError):
                await worker
        del self.workers[:number]

    async def _do(self, key: str) -> None:
        self.done.append((asyncio.get_running_loop().time(), key))
        if key in self.poisoned:
            raise ValueError(key)
        await asyncio.sleep(1.0)

    def _failed(self, key: str, error: Exception) -> float | None:
        assert str(error) == key
        return self.poisoned[key]


@asynccontextmanager
async def shop(workers: int) -> AsyncIterator[Shop]:
    one = Shop()
    one.hire(workers)
    await asyncio.sleep(0)
    yield one
    await one.dismiss(len(one.workers))
    one.queue.close()


def in_virtual_time(story: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Run the test on a loop in virtual time."""

    @wraps(story)
    def test() -> None:
        loop = VirtualLoop()
        try:
            loop.run_until_complete(story())
        finally:
            loop.close()

    return test


@in_virtual_time
async def test_keys_are_processed_in_order_by_all_workers() -> None:
    async with shop(2) as it:
        for key in "abc":
            it.queue.add(key)
        assert len(it.queue) == 3
        await asyncio.sleep(3)
        assert it.done == [(0, "a"), (0, "b"), (1, "c")]
        assert it.waits == [0, 0, 1]


@in_virtual_time
async def test_a_key_that_waits_is_not_added_again() -> None:
    async with shop(1) as it:
        for _ in range(5):
            it.queue.add("a")
        await asyncio.sleep(3)
        assert it.done == [(0, "a")]


@in_virtual_time
async def test_a_key_added_while_it_is_processed_is_processed_once_more_afterwards() -> None:
    async with shop(2) as it:
        it.queue.add("a")
        await asyncio.sleep(0.5)
        it.queue.add("a")
        it.queue.add("a")
        await asyncio.sleep(3)
        assert it.done == [(0, "a"), (1, "a")]


@in_virtual_time
async def test_one_key_wakes_one_worker() -> None:
    async with shop(8) as it:
        for key in "abcd":
            it.queue.add(key)
            await asyncio.sleep(0.1)
        assert sum(each.turns for each in it.turns) == 8 + 4  # all have come to work, and then one for each key


@in_virtual_time
async def test_a_worker_cancelled_while_it_is_woken_wakes_another() -> None:
    async with shop(2) as it:
        it.queue.add("a")  # calls the first, which is taken away before it comes
        await it.dismiss(1)
        await asyncio.sleep(0.1)
        assert it.done == [(0, "a")]


@in_virtual_time
async def test_cancelled_workers_are_not_woken() -> None:
    async with shop(3) as it:
        await it.dismiss(3)
        it.queue.add("a")
        it.queue.add("b")
        it.hire(2)
        await asyncio.sleep(0.1)
        assert it.done == [(0, "a"), (0, "b")]


@in_virtual_time
async def test_the_earliest_delay_of_a_key_wins() -> None:
    async with shop(1) as it:
        it.queue.add_in("a", 10)
        it.queue.add_in("a", 5)
        it.queue.add_in("a", 20)
        await asyncio.sleep(30)
        assert it.done == [(5, "a")]


@in_virtual_time
async def test_each_failure_in_a_row_doubles_the_delay_of_that_key_only() -> None:
    async with shop(1) as it:
        it.poisoned["bad"] = None
        it.queue.add("bad")
        await asyncio.sleep(0.5)
        assert [at for at, _ in it.done] == pytest.approx([0, 0.05, 0.15, 0.35])
        it.queue.add("good")
        await asyncio.sleep(0.1)
        assert it.done[-1] == (0.5, "good")
        await asyncio.sleep(3600)
        waits = [later - at for (at, _), (later, _) in zip(it.done[-4:], it.done[-3:], strict=False)]
        assert waits == [60, 60, 60]


@in_virtual_time
async def test_a_success_resets_the_delay() -> None:
    async with shop(1) as it:
        it.poisoned["a"] = None
        it.queue.add("a")
        await asyncio.sleep(0.1)
        it.poisoned.clear()
        await asyncio.sleep(1.2)
        it.poisoned["a"] = None
        it.done.clear()
        it.queue.add("a")
        await asyncio.sleep(0.06)
        assert [later - at for (at, _), (later, _) in zip(it.done, it.done[1:], strict=False)] == [pytest.approx(0.05)]


@in_virtual_time
async def test_a_delay_that_the_failure_asks_for_is_used() -> None:
    async with shop(1) as it:
        it.poisoned["a"] = 7.0
        it.queue.add("a")
        await asyncio.sleep(15)
        assert [at for at, _ in it.done] == [0, 7, 14]


@in_virtual_time
async def test_a_forgotten_key_leaves_no_state() -> None:
    async with shop(1) as it:
        it.queue.add("busy")
        await asyncio.sleep(0.5)
        for key in ("busy", "waits"):
            it.queue.add(key)
            it.queue.add_in(key, 3)
            it.queue.forget(key)
        await asyncio.sleep(60)
        assert it.done == [(0, "busy")]
        assert len(it.queue) == 0


@in_virtual_time
async def test_a_closed_queue_has_no_timers() -> None:
    async with shop(1) as it:
        it.queue.add_in("a", 3)
        it.queue.close()
        await asyncio.sleep(60)
        assert it.done == []
