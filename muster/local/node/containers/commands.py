"""Runs a command in a container that runs, and hands its output on as it comes."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence

from muster.local.node.containers.runner import DRAIN_SECONDS, ContainerRunner

LONGEST = 3600.0
"""Seconds after which a command is killed."""
CHUNK = 65_536


async def run_command(
    runner: ContainerRunner, command: Sequence[str], write: Callable[[bytes], Awaitable[None]]
) -> int | None:
    """The exit code; None where the container does not run."""
    if not runner.running:
        return None
    read, end = os.pipe2(os.O_CLOEXEC)
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read, "rb", buffering=0)
    )

    async def copy() -> None:
        while data := await reader.read(CHUNK):
            await write(data)

    copying = asyncio.create_task(copy(), name="command-output")
    try:
        try:
            code = await runner.execute(list(command), LONGEST, end)
        finally:
            os.close(end)
        # A process that the command has left behind may keep the output open.
        await asyncio.wait({copying}, timeout=DRAIN_SECONDS)
        return code
    finally:
        copying.cancel()
        await asyncio.gather(copying, return_exceptions=True)
        transport.close()
