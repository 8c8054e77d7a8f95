"""No test opens a connection that leaves the machine, or asks a name server.

Fakes hand out addresses, and what is under test connects to them: to an address that nobody owns, through the default
route. Such an address is refused here, and the test fails. Programs that a test starts are not seen; the addresses
that they are handed are asked about in ``test_departures``.
"""

import errno
import ipaddress
import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from muster.local.node.network.address_pool import BRIDGED

_left: list[str] = []
"""Where the running test went."""


def left() -> list[str]:
    """Where it went, which it is forgiven."""
    found = _left.copy()
    _left.clear()
    return found


def stays(host: str) -> bool:
    """A connection to that address stays on this machine: on loopback, or in the namespaces of its pods.

    The kernel itself refuses TCP to addresses of multicast and broadcast, and sends nothing.
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host in ("", "localhost", socket.gethostname())
    nowhere = address.is_unspecified or address.is_multicast or host == "255.255.255.255"
    return nowhere or address.is_loopback or any(address in network for network in BRIDGED)


@pytest.fixture(scope="session", autouse=True)
def connections_are_watched() -> Iterator[None]:
    """Refuse connections that leave the machine, and note them."""
    connect, resolve = socket.socket.connect, socket.getaddrinfo

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not stays(address[0]):
            _left.append(f"{address[0]}:{address[1]}")
            raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))
        connect(self, address)

    def looked_up(host: Any, *more: Any, **named: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host or ""
        if not stays(name) and any(each.isalpha() and each not in "abcdef" for each in name):
            _left.append(f"the name server, for {name}")
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return resolve(host, *more, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        patch.setattr(socket, "getaddrinfo", looked_up)
        yield


@pytest.fixture(autouse=True)
def no_connection_leaves_the_machine() -> Iterator[None]:
    """The test fails if one of its connections would have left."""
    _left.clear()
    yield
    assert not _left, f"it went to {', '.join(sorted({*_left}))}: use an address of loopback (127.0.0.0/8)"
