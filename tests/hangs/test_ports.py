"""Gangs that are played beside each other do not meet at one port."""

import socket

import pytest

from tests.hangs.ports import JAX, TORCH, held_port


def test_the_port_of_a_gang_is_free_for_its_coordinator_alone() -> None:
    with held_port(JAX) as port:
        with pytest.raises(OSError, match="in use"), socket.create_server(("127.0.0.1", port)):
            pass
        with socket.create_server(("::", port), family=socket.AF_INET6, reuse_port=True) as coordinator:
            assert coordinator.getsockname()[1] == port


def test_a_store_can_listen_on_the_port_of_its_gang() -> None:
    with held_port(TORCH) as port, socket.create_server(("", port)) as store:  # which sets that option, as PyTorch does
        assert store.getsockname()[1] == port


@pytest.mark.parametrize("option", [JAX, TORCH])
def test_no_two_gangs_have_one_port(option: int) -> None:
    with held_port(option) as one, held_port(option) as other:
        assert one != other
