"""The plainest probe: does the port accept connections?

For coordinators that say nothing about their ranks (PyTorch's store, XGBoost's tracker). A program that is stopped
still accepts, because the kernel does it, so an accepting port is evidence of a listener and of no more.
"""

import asyncio
from collections.abc import Callable

from state.roll import CoordinatorState, RollAnswer
from watchers.probes.jax.classify import Address, connect


async def probe_tcp(address: str, *, deadline: float, clock: Callable[[], float]) -> RollAnswer:
    """Connect to `address` ("ip:port") within `deadline` seconds and close again; SERVING when that worked.

    Never raises for anything the network or the other side does; ValueError for an address that is none.
    """
    where = Address.parse(address)
    started = asyncio.get_running_loop().time()
    sight = await connect(where, deadline)
    return RollAnswer(
        at=clock(),
        coordinator=sight.state,
        latency=asyncio.get_running_loop().time() - started,
        detail=sight.detail,
        protocol="tcp" if sight.state is CoordinatorState.SERVING else "",
    )
