"""The work queue in virtual time: the order and the number of a key's steps."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import wraps
from itertools import pairwise
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
import uvloop

from muster.kube.workqueue import SLICE, WorkQueue
from tests.simulation.world.virtual_loop import VirtualLoop


class Shop:
    """A queue and the finished work. Work takes one second if the key is ``slow``, and fails if it is ``poisoned``."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.queue = WorkQueue(self.waits.append)
        self.done: list[tuple[float, str]] = []
        self.slow: set[str] = set()
        self.poisoned: dict[str, float | None] = {}
        self.cancelled: list[str] = []
        self.ends_with = ""
        """The key at which the queue is cancelled."""
        self.running = self.run()

    def run(self) -> asyncio.Task[None]:
        self.running = asyncio.create_task(self.queue.run(self._begin, self._failed), name="steps")
        return self.running

    async def end(self) -> None:
        self.running.cancel()
        with suppress(asyncio.CancelledError):
            await self.running

    def times(self, key: str) -> list[float]:
        return [at for at, done in self.done if done == key]

    def _begin(self, key: str) -> Coroutine[Any, Any, None] | None:
        self.done.append((asyncio.get_running_loop().time(), key))
        if key == self.ends_with:
            self.running.cancel()
        if key in self.slow:
            return self._go_on(key)
        if key in self.poisoned:
            raise ValueError(key)
        return None

    async def _go_on(self, key: str) -> None:
        try:
            await asyncio.sleep(1.0)
        except asyncio.CancelledError:
            self.cancelled.append(key)
            raise
        if key in self.poisoned:
            raise ValueError(key)

    def _failed(self, key: str, error: Exception) -> float | None:
        assert str(error) == key
        return self.poisoned[key]


@asynccontextmanager
async def shop(*slow: str) -> AsyncIterator[Shop]:
    one = Shop()
    one.slow.update(slow)
    await asyncio.sleep(0)
    yield one
    await one.end()
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
async def test_keys_are_processed_in_order() -> None:
    async with shop() as it:
        for key in "abc":
            it.queue.add(key)
        assert len(it.queue) == 3
        await asyncio.sleep(1)
        assert it.done == [(0, "a"), (0, "b"), (0, "c")]
        assert it.waits == [0, 0, 0]


@in_virtual_time
async def test_slow_keys_do_not_delay_others() -> None:
    slow = [f"slow {number}" for number in range(1000)]
    async with shop(*slow) as it:
        for key in slow:
            it.queue.add(key)
        await asyncio.sleep(0.5)
        it.queue.add("a")
        await asyncio.sleep(0.1)
        assert it.times("a") == [0.5]


@in_virtual_time
async def test_a_key_that_waits_is_not_added_again() -> None:
    async with shop() as it:
        for _ in range(5):
            it.queue.add("a")
        await asyncio.sleep(3)
        assert it.done == [(0, "a")]


@in_virtual_time
async def test_a_key_added_while_it_is_processed_is_processed_once_more_afterwards() -> None:
    async with shop("a") as it:
        it.queue.add("a")
        await asyncio.sleep(0.5)
        it.queue.add("a")
        it.queue.add("a")
        await asyncio.sleep(3)
        assert it.done == [(0, "a"), (1, "a")]


@in_virtual_time
async def test_the_end_of_the_queue_cancels_and_awaits_the_tasks_of_its_keys() -> None:
    async with shop("a", "b") as it:
        it.queue.add("a")
        it.queue.add("b")
        await asyncio.sleep(0.5)
        await it.end()
        assert sorted(it.cancelled) == ["a", "b"]
        assert len(asyncio.all_tasks()) == 1


def test_a_key_whose_task_is_cancelled_at_any_time_is_processed_by_the_next_run() -> None:
    """The loop runs ready tasks in any order, so that some of them are cancelled before they begin."""
    began: list[bool] = []

    async def story() -> None:
        async with shop("a") as it:
            it.ends_with = "a"
            it.queue.add("a")
            await asyncio.gather(it.running, return_exceptions=True)
            began.append(bool(it.cancelled))
            it.ends_with = ""
            it.run()
            it.queue.add("a")
            await asyncio.sleep(3)
            assert it.done == [(0, "a"), (0, "a")]

    for seed in range(20):
        loop = VirtualLoop(Random(seed))
        try:
            loop.run_until_complete(story())
        finally:
            loop.close()
    assert set(began) == {False, True}


@in_virtual_time
async def test_the_earliest_delay_of_a_key_wins() -> None:
    async with shop() as it:
        it.queue.add_in("a", 10)
        it.queue.add_in("a", 5)
        it.queue.add_in("a", 20)
        await asyncio.sleep(30)
        assert it.done == [(5, "a")]


@in_virtual_time
async def test_each_failure_in_a_row_doubles_the_delay_of_that_key_only() -> None:
    async with shop() as it:
        it.poisoned["bad"] = None
        it.queue.add("bad")
        await asyncio.sleep(0.5)
        assert it.times("bad") == pytest.approx([0, 0.05, 0.15, 0.35])
        it.queue.add("good")
        await asyncio.sleep(0.1)
        assert it.done[-1] == (0.5, "good")
        await asyncio.sleep(3600)
        waits = [later - at for (at, _), (later, _) in zip(it.done[-4:], it.done[-3:], strict=False)]
        assert waits == [60, 60, 60]


@in_virtual_time
async def test_a_failure_of_the_slow_part_is_retried_too() -> None:
    async with shop("bad") as it:
        it.poisoned["bad"] = None
        it.queue.add("bad")
        await asyncio.sleep(3.5)
        assert it.times("bad") == pytest.approx([0, 1.05, 2.15, 3.35])


@in_virtual_time
async def test_a_success_resets_the_delay() -> None:
    async with shop() as it:
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
    async with shop() as it:
        it.poisoned["a"] = 7.0
        it.queue.add("a")
        await asyncio.sleep(15)
        assert it.times("a") == [0, 7, 14]


@in_virtual_time
async def test_a_forgotten_key_leaves_no_state() -> None:
    async with shop("busy") as it:
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
    async with shop() as it:
        it.queue.add_in("a", 3)
        it.queue.close()
        await asyncio.sleep(60)
        assert it.done == []


@in_virtual_time
async def test_a_long_row_of_keys_lets_the_loop_run_in_between() -> None:
    """Each step takes a quarter of the time that a row of keys may take."""
    loop = asyncio.get_running_loop()
    done: list[str] = []
    others: list[int] = []

    def decide(key: str) -> None:
        done.append(key)

    with patch.object(loop, "time", lambda: len(done) * SLICE / 4):
        queue = WorkQueue()
        for number in range(100):
            queue.add(str(number))
        running = asyncio.create_task(queue.run(decide, lambda _key, _error: None), name="steps")
        for _ in range(20):
            await asyncio.sleep(0)
            others.append(len(done))
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert len(set(others)) >= 20
    assert max(later - before for before, later in pairwise(others)) <= 5


def test_a_time_that_has_come_is_compared_with_others_on_the_loop_of_musterd() -> None:
    """uvloop gives a handle without a time if less than half a millisecond is left."""

    async def story() -> list[str]:
        done: list[str] = []
        queue = WorkQueue()
        for soon in (0.0, 0.0004):
            for later in (0.0, 0.0004, 3600.0):
                queue.add_in(f"{soon} {later}", soon)
                queue.add_in(f"{soon} {later}", later)
        all_done = asyncio.get_running_loop().create_future()

        def decide(key: str) -> None:
            done.append(key)
            if len(done) == 6:
                all_done.set_result(None)

        running = asyncio.create_task(queue.run(decide, lambda _key, _error: None), name="steps")
        await all_done
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return done

    assert len(set(uvloop.run(story()))) == 6
