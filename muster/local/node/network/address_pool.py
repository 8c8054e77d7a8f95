"""Addresses of pods: each agent claims a block, so that several clusters on one machine have different addresses.

A claim is an abstract unix socket (unix(7)). Like addresses, it belongs to the network namespace, and the kernel
releases it when its process ends, even if that is killed.
"""

import ipaddress
import socket
from collections.abc import Iterator

BLOCK_PREFIX = 20
"""Prefix length of a block: 4,094 addresses for each agent."""

LOOPBACK = ipaddress.IPv4Network("127.77.0.0/16")
LOOPBACK_BLOCKS = tuple(LOOPBACK.subnets(new_prefix=BLOCK_PREFIX))
"""For pods without a network namespace."""
BRIDGED = tuple(ipaddress.IPv4Network(each) for each in ("10.245.0.0/16", "10.246.0.0/16", "172.29.0.0/16"))
BRIDGE_BLOCKS = tuple(block for network in BRIDGED for block in network.subnets(new_prefix=BLOCK_PREFIX))
"""For pods behind a bridge."""


class AddressesExhaustedError(Exception):
    """No free address, or no free block of addresses."""


def claim(kind: str, number: int) -> socket.socket | None:
    """Claim a numbered block until the socket is closed; None if another process has it."""
    held = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        held.bind(f"\0muster-node/{kind}/{number}")
    except OSError:
        held.close()
        return None
    return held


class AddressPool:
    """The addresses of one block. Freed ones are reused as late as possible, because clients may have cached them."""

    def __init__(self, block: ipaddress.IPv4Network, *, skip: int = 1) -> None:
        self.block = block
        self._used: set[str] = set()
        self._reserved: dict[str, str] = {}
        self._size = block.num_addresses - 2 - skip  # without the network's first and last, and what is skipped
        self._skip = skip
        self._walk = self._round()

    def take(self, name: str = "") -> str:
        """Take a free address; the one reserved for `name` if there is one."""
        if name and name in self._reserved:
            address = self._reserved.pop(name)
            if address not in self._used:
                self._used.add(address)
                return address
        for _ in range(self._size):
            address = next(self._walk)
            if address not in self._used and address not in self._reserved.values():
                self._used.add(address)
                return address
        raise AddressesExhaustedError(f"all {self._size} addresses of {self.block} are in use; run fewer pods at once")

    def reserve(self, name: str) -> str:
        """Reserve an address for the pod with this name, which does not exist yet."""
        if name not in self._reserved:
            address = self.take()
            self._used.discard(address)
            self._reserved[name] = address
        return self._reserved[name]

    def free(self, address: str) -> None:
        """Take an address back."""
        self._used.discard(address)

    def _round(self) -> Iterator[str]:
        while True:
            for offset in range(self._size):
                yield str(self.block[1 + self._skip + offset])
