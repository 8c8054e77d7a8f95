"""Carries a TCP connection to a port of a pod: the subresource ``portforward``, over a WebSocket.

The frames begin with a byte that names their channel: 0 is the data, 1 an error in words; the first frame of each
brings the port, in two bytes (kubernetes: cri-streaming/pkg/streaming/portforward/websocket.go, v4.channel.k8s.io). API
servers that know newer protocols hand this one on to the kubelet. It has no sign for the end of one direction: what the
pod still has to say to a program that closes its side is lost.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import aiohttp

from muster.api.errors import Unreachable
from muster.kube.execution import Sockets
from muster.kube.paths import core

PROTOCOL: Final = "v4.channel.k8s.io"
DATA, ERRORS = 0, 1
"""Channels."""
AT_ONCE: Final = 2**16
"""Bytes of one frame."""

Write = Callable[[bytes], Awaitable[None]]


async def forward(
    sockets: Sockets, namespace: str, pod: str, port: int, reader: asyncio.StreamReader, write: Write
) -> None:
    """Carry what ``reader`` brings to that port of the pod, and write what comes back, until one side ends.

    Raises ``ApiError``, also where nothing in the pod listens at the port.
    """
    path = f"{core(namespace, 'pods', pod)}/portforward"
    async with sockets.socket(path, params=[("ports", str(port))], protocols=(PROTOCOL,)) as socket:
        there = asyncio.create_task(_there(reader, socket))
        back = asyncio.create_task(_back(socket, write, path))
        try:
            done, _ = await asyncio.wait((there, back), return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                await task
        finally:
            for task in (there, back):
                task.cancel()
            await asyncio.gather(there, back, return_exceptions=True)


async def _there(reader: asyncio.StreamReader, socket: "aiohttp.ClientWebSocketResponse[bool]") -> None:
    while data := await reader.read(AT_ONCE):
        await socket.send_bytes(bytes((DATA,)) + data)


async def _back(socket: "aiohttp.ClientWebSocketResponse[bool]", write: Write, path: str) -> None:
    begun: set[int] = set()
    async for message in socket:
        if message.type is not aiohttp.WSMsgType.BINARY or not message.data:
            continue
        channel, data = message.data[0], message.data[1:]
        if channel not in begun:
            begun.add(channel)
            data = data[2:]
        if channel == DATA and data:
            await write(data)
        elif channel == ERRORS and data:
            raise Unreachable(data.decode(errors="replace"), reason="PortForward", request=path)
