"""A node agent as a process: ``python -m tests.local.node.agent_process URL STATE ISOLATION``; it ends on SIGTERM."""

import asyncio
import signal
import sys
from pathlib import Path

from muster.kube.authentication.credentials import ClusterAccess
from muster.local.node import Isolation, NodeAgent


async def main(url: str, state: str, isolation: str) -> None:
    """Run the agent of the API server at that address."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    agent = NodeAgent(ClusterAccess(url), state_dir=Path(state), isolation=Isolation(isolation))
    await agent.start()
    await stop.wait()
    await agent.stop(0)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
