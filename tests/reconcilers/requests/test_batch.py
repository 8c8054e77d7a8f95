"""A batch processes each item once, and a create waits longer where the last one had no answer."""

import asyncio
from random import Random
from typing import Any

import pytest

from muster.api.errors import ApiError, Forbidden, Unreachable
from muster.kube.connection import TIMEOUT_REASON
from muster.kube.fair_share import FairShare
from muster.kube.transport import Answer
from muster.reconcilers.requests.batch import CREATE_TIMEOUT, LONG_CREATE_TIMEOUT, MOST_SLOW, Batch, Calls
from tests.fakes.plans import gang
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


SILENT = Unreachable("no answer", reason=TIMEOUT_REASON)


class Admission:
    """A server that raises ``error`` for each create, or admits without one. ``limits`` has the calls' time limits."""

    def __init__(self) -> None:
        self.error: ApiError | None = None
        self.limits: list[float | None] = []

    async def request(self, method: str, path: str, *, timeout: float | None = None, **_: Any) -> Answer:
        self.limits.append(timeout)
        if self.error is not None:
            raise self.error
        return Answer(201, b"{}")


class Creates:
    """The creates of one daemon."""

    def __init__(self) -> None:
        self.admission = Admission()
        self.calls = Calls(self.admission, creates=FairShare(4), others=FairShare(4), now=lambda: 0.0)  # type: ignore[arg-type]

    async def fails(self, namespace: str, error: ApiError = SILENT) -> None:
        self.admission.error = error
        with pytest.raises(type(error)):
            await self.calls.create(gang(1, namespace=namespace), "pods", b"{}")

    async def limit(self, namespace: str) -> float | None:
        """Return the time limit of an admitted create, which ends the longer waiting."""
        self.admission.error = None
        await self.calls.create(gang(1, namespace=namespace), "pods", b"{}")
        return self.admission.limits[-1]


async def test_a_create_waits_longer_after_one_without_an_answer() -> None:
    creates = Creates()
    await creates.fails("slow")
    assert await creates.limit("quick") == CREATE_TIMEOUT
    assert await creates.limit("slow") == LONG_CREATE_TIMEOUT


async def test_any_answer_ends_the_longer_waiting() -> None:
    creates = Creates()
    await creates.fails("slow")
    assert await creates.limit("slow") == LONG_CREATE_TIMEOUT
    assert await creates.limit("slow") == CREATE_TIMEOUT
    await creates.fails("slow")
    await creates.fails("slow", Forbidden("denied", status=403))
    assert await creates.limit("slow") == CREATE_TIMEOUT


async def test_no_more_than_a_limited_number_of_slow_namespaces_is_remembered() -> None:
    creates = Creates()
    await creates.fails("again")
    for number in range(MOST_SLOW - 1):
        await creates.fails(f"deleted-{number}")
    await creates.fails("again")
    await creates.fails("latest")
    assert await creates.limit("deleted-0") == CREATE_TIMEOUT, "the oldest is forgotten"
    assert [await creates.limit(name) for name in ("deleted-1", "again", "latest")] == [LONG_CREATE_TIMEOUT] * 3
