"""Tasks are cancelled, and have ended when the wait for them is over."""

import asyncio
import contextlib

import pytest

from muster.kube.cancellation import cancel_and_wait, cancelling


async def _cleaned(clean: asyncio.Event) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        await clean.wait()


async def _begun(clean: asyncio.Event) -> "asyncio.Task[None]":
    task = asyncio.create_task(_cleaned(clean))
    await asyncio.sleep(0)
    return task


async def _failing() -> None:
    raise ValueError("broken")


async def test_the_error_of_a_task_is_returned_and_none_is_no_task() -> None:
    clean = asyncio.Event()
    clean.set()
    one, failed = await _begun(clean), asyncio.create_task(_failing())
    await asyncio.sleep(0)
    cancelled, error = await cancel_and_wait(one, None, failed)
    assert (type(cancelled), type(error)) == (asyncio.CancelledError, ValueError)


async def test_a_caller_that_is_cancelled_waits_for_the_ends_too() -> None:
    clean = asyncio.Event()

    async def stubborn() -> None:
        while not clean.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await clean.wait()

    task = asyncio.create_task(stubborn())
    await asyncio.sleep(0)
    caller = asyncio.create_task(cancel_and_wait(task))
    await asyncio.sleep(0)
    caller.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not caller.done()
    clean.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert task.done()


async def test_tasks_have_ended_when_the_error_of_their_context_is_seen() -> None:
    clean = asyncio.Event()
    clean.set()
    task = await _begun(clean)
    with pytest.raises(ValueError, match="broken"):
        async with cancelling(task):
            await _failing()
    assert task.cancelled()
