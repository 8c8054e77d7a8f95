"""Gangs that are played beside each other do not meet at one port."""

import socket

import pytest

from tests.hangs.gang import held_port


def test_the_port_of_a_gang_is_free_for_its_coordinator_alone() -> None:
    with held_port() as port:
        with pytest.raises(OSError, match="in use"), socket.create_server(("127.0.0.1", port)):
            pass
        with socket.create_server(("::", port), family=socket.AF_INET6, reuse_port=True) as coordinator:
            assert coordinator.getsockname()[1] == port


def test_no_two_gangs_have_one_port() -> None:
    with held_port() as one, held_port() as other:
        assert one != other
