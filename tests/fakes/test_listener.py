"""A fake that ends serves what it has accepted."""

import asyncio
import socket

from tests.fakes.listener import accepting, stop_listening


async def test_a_connection_that_is_accepted_when_its_listener_is_stopped_is_served() -> None:
    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"served")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    peer = socket.create_connection(server.sockets[0].getsockname())
    with peer:
        peer.setblocking(False)
        while not accepting():  # noqa: ASYNC110 - of the loop itself
            await asyncio.sleep(0)
        await stop_listening(server)
        assert await asyncio.get_running_loop().sock_recv(peer, 100) == b"served"
        assert await asyncio.get_running_loop().sock_recv(peer, 100) == b""
