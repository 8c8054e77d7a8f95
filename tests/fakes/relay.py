"""A TCP relay to a server. While it is closed, connections are refused, and those that were open are reset."""

import asyncio
import contextlib

from tests.fakes.listener import stop_listening


class Relay:
    """Forwards bytes between its own port and another one on this machine."""

    def __init__(self, target: int) -> None:
        self.port = 0
        self.target = target
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    async def serve(self) -> None:
        """Open it, always on the same port."""
        self._server = await asyncio.start_server(self._pass, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def refuse(self) -> None:
        """Close it."""
        if self._server is not None:
            await stop_listening(self._server)
        for writer in self._open:
            writer.transport.abort()
        if self._server is not None:
            await self._server.wait_closed()
        self._server = None

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self.target)
        except ConnectionRefusedError:
            writer.transport.abort()
            return
        self._open |= {writer, back}
        try:
            await asyncio.gather(_pump(reader, back), _pump(there, writer))
        finally:
            self._open -= {writer, back}
            for end in (writer, back):
                end.close()
                with contextlib.suppress(OSError):
                    await end.wait_closed()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(2**16):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.transport.abort()
