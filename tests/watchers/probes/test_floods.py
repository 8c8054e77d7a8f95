"""A tenant's pod may send anything, and any amount: the daemon reads little and reports the excess."""

import asyncio
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from muster.watchers.probes.bounded.connection import LONGEST_PAUSE, Excess, Guard
from muster.watchers.probes.ray.probe import RayProbe
from tests.simulation.world.virtual_loop import VirtualLoop
from tests.watchers.probes.floods import ASKED, FLOODS, Flood, Peer, measuring

pytestmark = pytest.mark.xdist_group("floods")

MOST_GROWN = 16.0
"""MB by which one flood makes the process larger than it ever was before."""


@pytest.fixture(scope="module", params=["uvloop", "asyncio"])
def measured(request: pytest.FixtureRequest) -> Iterator[Callable[[Flood], dict[str, Any]]]:
    with measuring(request.param) as measure:
        yield measure


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
def test_a_peer_that_sends_without_end_costs_little_and_is_named(
    flood: Flood, measured: Callable[[Flood], dict[str, Any]]
) -> None:
    figures = measured(flood)
    assert flood.says in figures["detail"]
    assert figures["grown"] < MOST_GROWN
    if "left alone" in figures["detail"]:
        assert figures["state"] == "other-protocol"
        assert figures["connections"] < 2 * ASKED, "a snapshot takes two, while the peer is not left alone"


def lasts(guard: Guard) -> bool:
    try:
        guard.check()
    except Excess:
        return True
    return False


def test_a_peer_is_left_alone_for_longer_each_time_until_it_has_behaved() -> None:
    loop = VirtualLoop()
    pauses: list[float] = []

    async def cut_off(guard: Guard) -> float:
        """Exceed at the end of the pause before. Return the seconds until the guard lets pass again."""
        assert str(guard.excess("it did too much")).startswith("it did too much, and is left alone for ")
        guard.excess("and another connection did, too")
        with pytest.raises(Excess, match="it did too much, and is left alone for "):
            guard.check()
        for halves in count():
            if not lasts(guard):
                return halves / 2
            await asyncio.sleep(0.5)
        raise AssertionError

    async def scenario() -> None:
        guard = Guard()
        guard.check()
        pauses.extend([await cut_off(guard) for _ in range(7)])
        await asyncio.sleep(2 * LONGEST_PAUSE)
        pauses.append(await cut_off(guard))

    loop.run_until_complete(scenario())
    loop.close()
    assert pauses == [1, 2, 4, 8, 16, 30, 30, 1]


async def test_a_flooding_agent_beside_a_dashboard_that_is_gone_is_no_exception(closed: int) -> None:
    peer = Peer(FLOODS["interim answers of a Ray head"])
    probe = RayProbe(f"127.0.0.1:{closed}", dashboard=closed, agent=peer.port, clock=lambda: 0.0, expected=2)
    answers = [await probe.snapshot() for _ in range(2)]
    await asyncio.to_thread(peer.close)
    assert not any(answer.coordinator.serving for answer in answers)
