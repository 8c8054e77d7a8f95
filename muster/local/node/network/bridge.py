"""The bridge that connects the network namespaces of the pods.

Links are named after the agent's block (`muster<n>`, `mv<n>-…`). An agent that starts removes the links of every block
that no running agent claims. The kernel removes a veth pair with the pod's namespace, but a namespace outlives its
processes while a TCP socket in it still retransmits (minutes), so the agent removes the pairs itself when it ends.
"""

import errno
import ipaddress
import re
import socket
from contextlib import AsyncExitStack
from typing import Any, Self

from pyroute2 import AsyncIPRoute
from pyroute2.netlink.exceptions import NetlinkError

from muster.local.node.isolation.sandbox import SandboxError
from muster.local.node.network.address_pool import BRIDGE_BLOCKS, AddressesExhaustedError, claim

_LINK = re.compile(r"muster(\d+)|mv(\d+)-[0-9a-f]+")


class Bridge:
    """The bridge of one agent, in the network namespace of the agent."""

    def __init__(self, number: int, block: ipaddress.IPv4Network, route: Any) -> None:
        self.number = number
        self.block = block
        self.gateway = str(block[1])
        self.name = f"muster{number}"
        self._route = route
        self._parts = AsyncExitStack()
        self._index = 0
        self._count = 0

    @classmethod
    async def make(cls) -> Self:
        """Remove leftovers of dead agents, claim a free block and create the bridge."""
        async with AsyncExitStack() as parts:
            route = await parts.enter_async_context(AsyncIPRoute())
            await _remove_leftovers(route)
            taken = await _networks(route)
            for number, block in enumerate(BRIDGE_BLOCKS):
                if any(block.overlaps(network) for network in taken):
                    continue
                held = claim("bridge", number)
                if held is None:
                    continue
                parts.callback(held.close)
                made = cls(number, block, route)
                await made._bring_up()
                made._parts = parts.pop_all()
                return made
        raise AddressesExhaustedError("every address block for a bridge is in use; stop another local cluster first")

    async def connect(self, pid: int, address: str) -> None:
        """Create eth0 in the network namespace of `pid`, on this bridge. The pod's init process sets its address."""
        self._count += 1
        octets = "".join(f":{int(part):02x}" for part in address.split("."))
        try:
            await self._route.link(
                "add",
                ifname=f"mv{self.number}-{self._count:x}",
                kind="veth",
                master=self._index,
                state="up",
                # The MAC is derived from the address, so that ARP caches stay valid when the address is reused.
                peer={"ifname": "eth0", "net_ns_pid": pid, "address": f"02:77{octets}"},
            )
        except (NetlinkError, OSError) as error:
            raise SandboxError(f"cannot connect the pod to bridge {self.name}: {error}") from error

    async def remove(self) -> None:
        """Remove the bridge and its links, and give the block back."""
        try:
            await _remove_links(self._route, await _links(self._route, self.number))
        finally:
            await self._parts.aclose()

    async def _bring_up(self) -> None:
        # A fixed MAC: otherwise the bridge has the lowest MAC of its ports, which changes with the pods.
        mac = f"02:77:ff:00:00:{self.number:02x}"
        await self._route.link("add", ifname=self.name, kind="bridge", address=mac)
        self._index = (await self._route.link_lookup(ifname=self.name))[0]
        await self._route.addr("add", index=self._index, address=self.gateway, prefixlen=self.block.prefixlen)
        await self._route.link("set", index=self._index, state="up")


async def _remove_leftovers(route: Any) -> None:
    found = await _links(route)
    for number in {number for number, _ in found}:
        held = claim("bridge", number)
        if held is not None:
            try:
                await _remove_links(route, [each for each in found if each[0] == number])
            finally:
                held.close()


async def _links(route: Any, number: int | None = None) -> list[tuple[int, int]]:
    """Block number and index of each bridge and veth link of node agents, or of the one with that number."""
    found: list[tuple[int, int]] = []
    async for link in await route.get_links():
        match = _LINK.fullmatch(str(link.get_attr("IFLA_IFNAME")))
        if match is not None and number in (None, int(match[1] or match[2])):
            found.append((int(match[1] or match[2]), link["index"]))
    return found


async def _remove_links(route: Any, links: list[tuple[int, int]]) -> None:
    for _, index in links:
        try:
            await route.link("del", index=index)
        except NetlinkError as error:
            if error.code != errno.ENODEV:  # the kernel removed it with its namespace in the meantime
                raise


async def _networks(route: Any) -> list[ipaddress.IPv4Network]:
    found: list[ipaddress.IPv4Network] = []
    async for entry in await route.get_routes(family=socket.AF_INET):
        target = entry.get_attr("RTA_DST")
        if target and entry["dst_len"] > 0:
            found.append(ipaddress.IPv4Network((target, entry["dst_len"]), strict=False))
    return found
