"""The network of one agent's pods: a block of addresses, loopback ones or those of a bridge.

Each agent claims a block, so that several clusters on one machine have different addresses. A claim is an abstract unix
socket (unix(7)). Like addresses, it belongs to the network namespace, and the kernel releases it when its process ends,
even if that is killed.
"""

import ipaddress
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from muster.local.node.isolation.levels import Isolation

if TYPE_CHECKING:
    from muster.local.node.network.bridge import Bridge

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


@dataclass(slots=True, eq=False)
class PodNetwork:
    """One agent's addresses, and its bridge, or the socket that holds its block."""

    addresses: AddressPool
    name: str
    """Unique among the agents in this network namespace."""
    bridge: "Bridge | None" = None
    held: socket.socket | None = None

    @classmethod
    async def make(cls, isolation: Isolation) -> Self:
        """Claim a block of addresses that no other agent on this machine has."""
        if isolation is Isolation.NETNS:
            from muster.local.node.network.bridge import Bridge  # pyroute2 is an extra, needed for this isolation only

            bridge = await Bridge.make()
            return cls(AddressPool(bridge.block), bridge.name, bridge)
        for number, block in enumerate(LOOPBACK_BLOCKS):
            held = claim("loopback", number)
            if held is not None:
                return cls(AddressPool(block, skip=0), f"loopback{number}", held=held)
        raise AddressesExhaustedError(
            "all sixteen blocks of 127.77.0.0/16 are in use; stop another local cluster first"
        )

    @property
    def host_address(self) -> str:
        """Return the address of this machine for pods."""
        return self.bridge.gateway if self.bridge else "127.0.0.1"

    @property
    def prefix(self) -> int:
        """Return the length of the network prefix of an address."""
        return self.addresses.block.prefixlen

    async def connect(self, pid: int, address: str) -> None:
        """Connect the network namespace of a process to the bridge, if there is one."""
        if self.bridge is not None:
            await self.bridge.connect(pid, address)

    async def close(self) -> None:
        """Remove the bridge and give the block back."""
        if self.bridge is not None:
            await self.bridge.remove()
        if self.held is not None:
            self.held.close()
