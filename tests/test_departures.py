"""Addresses of tests: no connection to one of them leaves the machine.

Those of real nodes are in a network namespace of their run (``tests.real_node.addresses``).
"""

import asyncio
import socket

import pytest

from benchmarks.servers.fleet_server import Pods
from tests import departures
from tests.departures import stays
from tests.real.nodes import standin


def test_each_pod_of_the_stand_in_has_an_address_of_its_own_that_stays() -> None:
    numbers = (1, 2, 255, 256, 65_535, 65_536, 70_000)
    found = [standin.address_of(number) for number in numbers]
    assert len({*found}) == len(numbers)
    assert all(stays(address) for address in (*found, standin.HOST_ADDRESS)), found


def test_addresses_of_the_benchmarks_stay() -> None:
    line = Pods(4).line(70_000, 1, b"ADDED").decode()
    for field in ("podIP", "hostIP"):
        assert stays(line.partition(f'"{field}":"')[2].partition('"')[0])


@pytest.mark.parametrize("host", ["10.200.0.1", "8.8.8.8", "2001:db8::1", "fe80::1", "example.com", "169.254.169.254"])
def test_other_addresses_and_names_do_not_stay(host: str) -> None:
    assert not stays(host)


async def test_a_connection_that_would_leave_is_refused_and_noted() -> None:
    with pytest.raises(OSError, match="unreachable"):
        await asyncio.open_connection("10.200.0.1", 1234)
    with pytest.raises(socket.gaierror):
        await asyncio.open_connection("store.example", 1234)
    assert departures.left() == ["10.200.0.1:1234", "the name server, for store.example"]


async def test_nothing_is_sent_to_an_address_of_multicast() -> None:
    with pytest.raises(OSError, match="unreachable"):
        await asyncio.open_connection(standin.address_of(1), 1234)
