"""The work queue in virtual time: the order and the number of a key's steps, and the back-off of those that fail."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from itertools import pairwise
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
import uvloop

from muster.kube.workqueue import SLICE, Backoff, WorkQueue
from tests.simulation.world.virtual_loop import VirtualLoop

MANY = [f"slow {number}" for number in range(1000)]


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


def in_a_shop(*slow: str) -> Callable[[Callable[[Shop], Coroutine[Any, Any, None]]], Callable[[], None]]:
    """Return a decorator that runs a test in virtual time, with a shop in which these keys are slow."""

    def decorated(story: Callable[[Shop], Coroutine[Any, Any, None]]) -> Callable[[], None]:
        return lambda: run(in_shop(story, *slow))

    return decorated


async def in_shop(story: Callable[[Shop], Coroutine[Any, Any, None]], *slow: str) -> None:
    one = Shop()
    one.slow.update(slow)
    await asyncio.sleep(0)
    await story(one)
    await one.end()
    one.queue.close()


def run(story: Coroutine[Any, Any, None], random: Random | None = None) -> None:
    loop = VirtualLoop(random)
    try:
        loop.run_until_complete(story)
    finally:
        loop.close()


@in_a_shop()
async def test_keys_are_processed_in_order(it: Shop) -> None:
    for key in "abc":
        it.queue.add(key)
    assert len(it.queue) == 3
    await asyncio.sleep(1)
    assert it.done == [(0, "a"), (0, "b"), (0, "c")]
    assert it.waits == [0, 0, 0]


@in_a_shop(*MANY)
async def test_slow_keys_do_not_delay_others(it: Shop) -> None:
    for key in MANY:
        it.queue.add(key)
    await asyncio.sleep(0.5)
    it.queue.add("a")
    await asyncio.sleep(0.1)
    assert it.times("a") == [0.5]


@in_a_shop()
async def test_a_key_that_waits_is_not_added_again(it: Shop) -> None:
    for _ in range(5):
        it.queue.add("a")
    await asyncio.sleep(3)
    assert it.done == [(0, "a")]


@in_a_shop("a")
async def test_a_key_added_while_it_is_processed_is_processed_once_more_afterwards(it: Shop) -> None:
    it.queue.add("a")
    await asyncio.sleep(0.5)
    it.queue.add("a")
    it.queue.add("a")
    await asyncio.sleep(3)
    assert it.done == [(0, "a"), (1, "a")]


@in_a_shop("a", "b")
async def test_the_end_of_the_queue_cancels_and_awaits_the_tasks_of_its_keys(it: Shop) -> None:
    it.queue.add("a")
    it.queue.add("b")
    await asyncio.sleep(0.5)
    await it.end()
    assert sorted(it.cancelled) == ["a", "b"]
    assert len(asyncio.all_tasks()) == 1


def test_a_key_whose_task_is_cancelled_at_any_time_is_processed_by_the_next_run() -> None:
    """The loop runs ready tasks in any order, so that some of them are cancelled before they begin."""
    began: list[bool] = []

    async def story(it: Shop) -> None:
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
        run(in_shop(story, "a"), Random(seed))
    assert set(began) == {False, True}


@in_a_shop()
async def test_the_earliest_delay_of_a_key_wins(it: Shop) -> None:
    it.queue.add_in("a", 10)
    it.queue.add_in("a", 5)
    it.queue.add_in("a", 20)
    await asyncio.sleep(30)
    assert it.done == [(5, "a")]


@in_a_shop()
async def test_each_failure_in_a_row_doubles_the_delay_of_that_key_only(it: Shop) -> None:
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


@in_a_shop("bad")
async def test_a_failure_of_the_slow_part_is_retried_too(it: Shop) -> None:
    it.poisoned["bad"] = None
    it.queue.add("bad")
    await asyncio.sleep(3.5)
    assert it.times("bad") == pytest.approx([0, 1.05, 2.15, 3.35])


@in_a_shop()
async def test_a_success_resets_the_delay(it: Shop) -> None:
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


@in_a_shop()
async def test_a_delay_that_the_failure_asks_for_is_used(it: Shop) -> None:
    it.poisoned["a"] = 7.0
    it.queue.add("a")
    await asyncio.sleep(15)
    assert it.times("a") == [0, 7, 14]


@in_a_shop("busy")
async def test_a_forgotten_key_leaves_no_state(it: Shop) -> None:
    it.queue.add("busy")
    await asyncio.sleep(0.5)
    for key in ("busy", "waits"):
        it.queue.add(key)
        it.queue.add_in(key, 3)
        it.queue.forget(key)
    await asyncio.sleep(60)
    assert it.done == [(0, "busy")]
    assert len(it.queue) == 0


@in_a_shop()
async def test_a_closed_queue_has_no_timers(it: Shop) -> None:
    it.queue.add_in("a", 3)
    it.queue.close()
    await asyncio.sleep(60)
    assert it.done == []


@in_a_shop()
async def test_a_long_row_of_keys_lets_the_loop_run_in_between(it: Shop) -> None:
    """Each step takes a quarter of the time that a row of keys may take."""
    loop = asyncio.get_running_loop()
    done: list[str] = []
    others: list[int] = []

    with patch.object(loop, "time", lambda: len(done) * SLICE / 4):
        queue = WorkQueue()
        for number in range(100):
            queue.add(str(number))
        running = asyncio.create_task(queue.run(done.append, lambda _key, _error: None), name="steps")
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


def test_delays_double_up_to_the_longest() -> None:
    backoff = Backoff(first=0.05, longest=60.0)
    assert [backoff.delay() for _ in range(12)][-4:] == [12.8, 25.6, 51.2, 60.0]
    assert [backoff.delay() for _ in range(2000)][-1] == 60.0


def test_random_spreads_a_delay_over_its_upper_half() -> None:
    backoff = Backoff(0.8, 30.0, Random(1))
    waits = [backoff.delay(float(number)) for number in range(100)]
    assert 0.4 <= waits[0] <= 0.8
    assert all(15.0 <= wait <= 30.0 for wait in waits[6:])
    assert len(set(waits[6:])) > 50


def test_a_quiet_time_or_a_reset_starts_again_from_the_first() -> None:
    backoff = Backoff(1.0, 30.0, reset_after=120.0)
    assert [backoff.delay(now) for now in (0.0, 10.0, 20.0)] == [1.0, 2.0, 4.0]
    assert backoff.delay(141.0) == 1.0
    assert backoff.delay(142.0) == 2.0
    backoff.reset()
    assert backoff.delay(143.0) == 1.0
