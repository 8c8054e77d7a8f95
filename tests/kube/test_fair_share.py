"""The fair share: the flow that gets a slot, the flows that wait, and their order."""

import asyncio
from collections import Counter
from collections.abc import Callable

import pytest

from muster.kube.fair_share import FairShare

TOTAL = 128


class Flows:
    """Flows that each ask for slots and keep them until the test takes one back."""

    def __init__(self, total: int = TOTAL) -> None:
        self.share = FairShare(total)
        self.held: Counter[tuple[str, str]] = Counter()
        self.order: list[str] = []
        self.asking: list[asyncio.Task[None]] = []

    async def ask(self, group: str, flow: str, number: int) -> None:
        """Ask for that many slots at once; free ones are taken when this returns."""
        self.asking += [asyncio.create_task(self._take(group, flow)) for _ in range(number)]
        await settled()

    async def give_back(self, group: str, flow: str) -> None:
        self.held[group, flow] -= 1
        self.share.of(group, flow).release()
        await settled()

    def of(self, group: str) -> int:
        return sum(held for (where, _), held in self.held.items() if where == group)

    async def end(self) -> None:
        for task in self.asking:
            task.cancel()
        await asyncio.gather(*self.asking, return_exceptions=True)
        for (group, flow), held in self.held.items():
            for _ in range(held):
                self.share.of(group, flow).release()

    async def _take(self, group: str, flow: str) -> None:
        await self.share.of(group, flow).acquire()
        self.held[group, flow] += 1
        self.order.append(f"{group}/{flow}")


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_one_group_alone_gets_a_quarter_of_all_slots() -> None:
    flows = Flows()
    for number in range(100):
        await flows.ask("lab", f"run-{number}", 10)
    assert flows.of("lab") == TOTAL / 4


async def test_one_flow_alone_gets_a_fifth_of_all_slots() -> None:
    flows = Flows()
    await flows.ask("lab", "run", 1000)
    assert flows.of("lab") == 26


@pytest.mark.parametrize("hung", [1, 2, 4, 8, 16])
async def test_groups_that_keep_all_they_get_leave_a_slot_to_another_group_at_once(hung: int) -> None:
    flows = Flows()
    for number in range(hung):
        await flows.ask(f"slow-{number}", "run", 1000)
    await flows.ask("lab", "run", 1)
    assert flows.of("lab") == 1


@pytest.mark.parametrize("hung", [1, 2])
async def test_flows_that_keep_all_they_get_leave_a_slot_to_another_flow_of_the_group(hung: int) -> None:
    flows = Flows()
    for number in range(hung):
        await flows.ask("lab", f"slow-{number}", 1000)
    await flows.ask("lab", "run", 1)
    assert flows.held["lab", "run"] == 1


async def test_groups_and_flows_that_wait_take_turns() -> None:
    flows = Flows(2)
    await flows.ask("a", "big", 4)
    await flows.ask("a", "small", 1)
    await flows.ask("b", "run", 2)
    for name in ("a/big", "b/run", "a/small", "b/run", "a/big", "a/big"):
        held = next(key for key, number in flows.held.items() if number)
        await flows.give_back(*held)
        assert flows.share.busy <= 2, name
    assert flows.order.index("a/small") < len(flows.order) - 2
    assert flows.order.index("b/run") <= 1


async def test_every_slot_is_used_where_many_groups_ask() -> None:
    flows = Flows()
    for number in range(200):
        await flows.ask(f"team-{number}", "run", 8)
    assert flows.share.busy == TOTAL
    assert max(flows.of(f"team-{number}") for number in range(200)) <= TOTAL / 4


async def test_what_is_given_back_serves_all_that_wait_and_leaves_nothing() -> None:
    flows = Flows()
    for group in range(9):
        for flow in range(9):
            await flows.ask(f"team-{group}", f"run-{flow}", 9)
    for _ in range(9 * 9 * 9):
        await flows.give_back(*next(key for key, number in flows.held.items() if number))
    assert len(flows.order) == 9 * 9 * 9
    assert not flows.share.groups


async def test_a_request_that_is_cancelled_while_it_waits_is_passed_over() -> None:
    flows = Flows(2)
    await flows.ask("a", "run", 2)
    flows.asking[1].cancel()
    await flows.ask("b", "run", 1)
    await flows.give_back("a", "run")
    await flows.give_back("b", "run")
    assert flows.order == ["a/run", "b/run"]
    assert not flows.share.groups


@pytest.mark.parametrize("first", ["grant", "cancellation"])
async def test_a_request_cancelled_in_the_instant_of_its_grant_keeps_no_slot(first: str) -> None:
    flows = Flows(2)
    await flows.ask("a", "run", 3)
    flows.held["a", "run"] -= 1
    steps: list[Callable[[], object]] = [lambda: flows.share.of("a", "run").release(), flows.asking[1].cancel]
    for step in steps if first == "grant" else reversed(steps):
        step()
    await settled()
    assert flows.order == ["a/run", "a/run"]
    await flows.give_back("a", "run")
    assert not flows.share.groups


async def test_a_wait_that_is_withdrawn_ends_without_a_slot() -> None:
    share = FairShare(4)
    assert await share.of("a", "run").acquire()
    waiting = asyncio.create_task(share.of("a", "run").acquire())
    await settled()
    share.of("a", "run").withdraw()
    assert await waiting is False
    share.of("a", "run").release()
    assert not share.groups
    share.of("a", "run").withdraw()
    assert not share.groups


async def test_a_slot_is_given_back_when_its_holder_fails() -> None:
    share = FairShare(2)
    with pytest.raises(ValueError, match="broken"):
        async with share.of("lab", "run"):
            raise ValueError("broken")
    assert not share.groups
