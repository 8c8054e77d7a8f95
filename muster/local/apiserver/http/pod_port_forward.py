"""The pod subresource portforward, over a WebSocket: `muster port-forward`.

A socket carries one connection to one port of the pod (v4.channel.k8s.io): channel 0 is the data, channel 1 an error
in words, and the first frame of each brings the port.
"""

import asyncio
import os

from aiohttp import WSMsgType, web

PROTOCOL = "v4.channel.k8s.io"
DATA, ERRORS = b"\x00", b"\x01"
"""First byte of a frame."""
AT_ONCE = 2**16
"""Bytes of one frame."""


async def answer(request: web.BaseRequest, pod: str, address: str, port: int) -> web.StreamResponse:
    """Carry one connection to that address over this WebSocket, until one side ends."""
    socket = web.WebSocketResponse(protocols=(PROTOCOL,))
    await socket.prepare(request)
    for channel in (DATA, ERRORS):
        await socket.send_bytes(channel + port.to_bytes(2, "little"))
    try:
        reader, writer = await asyncio.open_connection(address, port)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        await socket.send_bytes(ERRORS + f"port {port} of pod {pod}: {why}".encode())
        await socket.close()
        return socket
    await _carry(socket, reader, writer)
    return socket


async def _carry(socket: web.WebSocketResponse, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:

    async def there() -> None:
        async for message in socket:
            if message.type is WSMsgType.BINARY and message.data[:1] == DATA:
                writer.write(message.data[1:])
                await writer.drain()

    async def back() -> None:
        while data := await reader.read(AT_ONCE):
            await socket.send_bytes(DATA + data)

    tasks = (asyncio.create_task(there()), asyncio.create_task(back()))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        writer.close()
        await asyncio.gather(*tasks, writer.wait_closed(), return_exceptions=True)
        await socket.close()
