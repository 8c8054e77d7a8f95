"""Address pools and the blocks that agents claim."""

import ipaddress
import itertools
from types import SimpleNamespace
from unittest.mock import AsyncMock

import pytest

from muster.local.node.isolation.levels import Isolation
from muster.local.node.network.address_pool import (
    BRIDGE_BLOCKS,
    LOOPBACK_BLOCKS,
    AddressesExhaustedError,
    AddressPool,
    claim,
)
from muster.local.node.network.bridge import Bridge
from muster.local.node.network.pod_network import PodNetwork


def test_an_address_is_used_once_and_freed_ones_are_reused_last() -> None:
    addresses = AddressPool(ipaddress.IPv4Network("10.0.0.0/29"))
    given = [addresses.take() for _ in range(5)]
    assert given == [f"10.0.0.{number}" for number in range(2, 7)]
    with pytest.raises(AddressesExhaustedError, match="run fewer pods"):
        addresses.take()
    addresses.free("10.0.0.4")
    assert addresses.take() == "10.0.0.4"


def test_a_reserved_address_is_given_to_its_pod_only() -> None:
    addresses = AddressPool(ipaddress.IPv4Network("127.77.0.0/29"), skip=0)
    reserved = addresses.reserve("default/coordinator.exp")
    assert addresses.reserve("default/coordinator.exp") == reserved
    assert addresses.take("default/worker.exp") != reserved
    assert addresses.take("default/coordinator.exp") == reserved


def test_a_claimed_block_is_free_again_when_its_socket_closes() -> None:
    held = claim("test", 1)
    assert held is not None
    assert claim("test", 1) is None
    held.close()
    again = claim("test", 1)
    assert again is not None
    again.close()


async def test_networks_of_agents_have_different_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cgroups are named after the network, and an agent removes all cgroups with its name."""
    networks = [await PodNetwork.make(Isolation.REWRITE) for _ in range(3)]
    try:
        number = networks[0].name.removeprefix("loopback")
        bridge = SimpleNamespace(name=f"muster{number}", block=BRIDGE_BLOCKS[int(number)])
        monkeypatch.setattr(Bridge, "make", AsyncMock(return_value=bridge))
        names = [(await PodNetwork.make(Isolation.NETNS)).name, *(network.name for network in networks)]
        assert len(set(names)) == 4
    finally:
        for network in networks:
            await network.close()


def test_blocks_do_not_overlap() -> None:
    for blocks in (BRIDGE_BLOCKS, LOOPBACK_BLOCKS):
        ordered = sorted(blocks)
        assert all(not a.overlaps(b) for a, b in itertools.pairwise(ordered))
