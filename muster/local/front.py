"""TLS in front of the API server: decrypts, and passes the bytes on.

kubectl sends a token over TLS only (client-go reads no credentials for a server without it), and a cluster that runs
commands must not be open to every user of the machine, nor to every page in its browser. So the API server, which
speaks plain HTTP and wants the token, is reached through here.
"""

import asyncio
import contextlib
import ssl

CHUNK = 256 * 1024
CLOSING_SECONDS = 2.0


class Front:
    """Listens with TLS on one loopback port and forwards every connection to another."""

    def __init__(self, inner_host: str, inner_port: int, context: ssl.SSLContext) -> None:
        self._inner = (inner_host, inner_port)
        self._context = context
        self._server: asyncio.Server | None = None
        self.connections: set[asyncio.Task[None]] = set()

    async def start(self, host: str, port: int) -> int:
        """Listen; returns the port, which is a free one if ``port`` is 0. Raises OSError if it is taken."""
        self._server = await asyncio.start_server(
            self._accept, host, port, ssl=self._context, limit=CHUNK, backlog=1024, ssl_shutdown_timeout=CLOSING_SECONDS
        )
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def stop(self) -> None:
        """Close every connection."""
        if self._server is not None:
            self._server.close()
        for task in self.connections:
            task.cancel()
        await asyncio.gather(*self.connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.connections.add(task)
        try:
            await self._forward(reader, writer)
        except asyncio.CancelledError:
            pass  # only stop() cancels; asyncio.streams would report it as an unhandled error
        finally:
            self.connections.discard(task)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Both directions until either side ends.

        A broken connection is the ordinary end of a client, not a failure.
        """
        inner: asyncio.StreamWriter | None = None
        try:
            answers, inner = await asyncio.open_connection(*self._inner, limit=CHUNK)
            ways = [
                asyncio.create_task(_copy(reader, inner), name="front-request"),
                asyncio.create_task(_copy(answers, writer), name="front-answer"),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        except OSError:
            return
        finally:
            for end in (inner, writer):
                if end is not None:
                    end.close()
                    with contextlib.suppress(OSError, TimeoutError):
                        async with asyncio.timeout(CLOSING_SECONDS):
                            await end.wait_closed()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await source.read(CHUNK):
            sink.write(chunk)
            await sink.drain()
