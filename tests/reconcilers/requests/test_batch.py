"""A batch processes each item once, whatever the order in which the answers come."""

import asyncio
from random import Random

import pytest

from muster.api.errors import Unreachable
from muster.kube.fair_share import FairShare
from muster.reconcilers.requests.batch import Batch
from tests.simulation.world.virtual_loop import VirtualLoop


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("number", [0, 1, 2, 5, 100])
def test_every_item_is_processed_once_whatever_the_order_of_answers(number: int, seed: int) -> None:
    random = Random(seed)

    async def work(item: int) -> int:
        await asyncio.sleep(random.choice((0.0, 0.1, 1.0, 5.0)))
        return item

    async def story() -> None:
        share = FairShare(16)
        batches = [Batch[int]() for _ in range(2)]
        async with asyncio.TaskGroup() as tasks:
            for name, batch in enumerate(batches):
                slots = share.of("lab", str(name))
                tasks.create_task(batch.run(f"batch {name}", range(number), work, slots))
        assert [sorted(batch.done) for batch in batches] == [list(range(number))] * 2
        assert not share.groups

    loop = VirtualLoop(Random(seed))
    try:
        loop.run_until_complete(story())
    finally:
        loop.close()


async def test_after_an_error_nothing_more_is_begun() -> None:
    begun: list[int] = []

    async def work(item: int) -> int:
        begun.append(item)
        await asyncio.sleep(0)
        raise Unreachable("reset")

    share, batch = FairShare(16), Batch[int]()
    await batch.run("batch", range(100), work, share.of("lab", "run"))
    assert len(begun) <= 4
    assert isinstance(batch.outcome().error, Unreachable)
    assert not share.groups


async def test_a_batch_whose_items_are_done_does_not_wait_for_another_slot() -> None:
    """The namespace has more than its share by then, because others have come, and another experiment of it hangs."""
    share, batch, answered = FairShare(8), Batch[int](), asyncio.Event()

    async def work(item: int) -> int:
        await answered.wait()
        return item

    await share.of("lab", "hangs").acquire()
    running = asyncio.create_task(batch.run("batch", range(2), work, share.of("lab", "run")))
    await asyncio.sleep(0)
    for group in "bbcd":
        await share.of(group, "hangs").acquire()
    assert share.busy == 6
    answered.set()
    await running
    assert batch.done == [0, 1]
    assert share.busy == 5


async def test_a_batch_has_no_more_tasks_than_slots() -> None:
    done = asyncio.Event()

    async def work(item: int) -> int:
        await done.wait()
        return item

    share, batch = FairShare(16), Batch[int]()
    running = asyncio.create_task(batch.run("batch", range(10_000), work, share.of("lab", "run")))
    for _ in range(20):
        await asyncio.sleep(0)
    named = [task for task in asyncio.all_tasks() if task.get_name().startswith("batch (")]
    assert len(named) == share.busy == 4
    done.set()
    await running
    assert len(batch.done) == 10_000
