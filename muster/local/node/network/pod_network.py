"""The network of one agent's pods: a bridge with its block of addresses, or a block of loopback addresses."""

import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from muster.local.node.isolation.levels import Isolation
from muster.local.node.network.address_pool import LOOPBACK_BLOCKS, AddressesExhaustedError, AddressPool, claim

if TYPE_CHECKING:
    from muster.local.node.network.bridge import Bridge


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
