"""Passes connections on to the API server, which listens on loopback, where pods in network namespaces cannot reach it.

It takes the place of kube-proxy and the Service `kubernetes`; TLS is between the pod and the server.
"""

import asyncio
import contextlib

CHUNK = 64 * 1024


async def relay(address: str, port: int, server: str, server_port: int) -> asyncio.Server:
    """Listen at that address until closed. Close the server when the node ends."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError):
            onward, back = await asyncio.open_connection(server, server_port)
            with contextlib.closing(back):
                directions = {asyncio.ensure_future(_copy(reader, back)), asyncio.ensure_future(_copy(onward, writer))}
                try:
                    await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for each in directions:
                        each.cancel()
                    await asyncio.gather(*directions, return_exceptions=True)

    return await asyncio.start_server(accept, address, port)


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(CHUNK):
        target.write(data)
        await target.drain()
