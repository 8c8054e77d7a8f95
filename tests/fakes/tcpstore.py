"""A TCPStore of either dialect, as far as the probe talks to it. Records every query that is not a plain read."""

import asyncio
import struct

from tests.fakes.listener import stop_listening

MAGIC = 0x3C85F7CE
MOST_MEMORY = 1 << 40
"""A key of more bytes is an allocation that fails: the store closes the connection."""


class FakeStore:
    """``plain``: PyTorch up to 2.1; otherwise 2.2 and newer."""

    def __init__(self, *, plain: bool = False) -> None:
        self.plain = plain
        self.keys: dict[str, bytes] = {}
        self.forbidden: list[int] = []
        self.connections = 0
        self.address = ""
        self.going = asyncio.Event()
        """Cleared: its process is stopped."""
        self.going.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> "FakeStore":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()
        self.address = f"{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        await stop_listening(self._server)
        self.drop()
        self.going.set()
        await asyncio.gather(*self._serving)
        await self._server.wait_closed()

    def join(self, *ranks: int, pattern: str = "/default_pg/0//cpu//0/{}") -> None:
        """Processes create the store, and leave their keys where there is a pattern for them."""
        self.keys["init/"] = str(int(self.keys.get("init/", b"0")) + len(ranks)).encode()
        if pattern:
            self.keys |= {pattern.format(rank): b"address" for rank in ranks}

    def drop(self) -> None:
        """Close every connection."""
        for writer in tuple(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            if not self.plain:
                kind, magic = struct.unpack("<BI", await reader.readexactly(5))
                assert (kind, magic) == (0, MAGIC)
            while True:
                await self._answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, MemoryError, KeyError):
            pass
        finally:
            self._writers.discard(writer)
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        (kind,) = await reader.readexactly(1)
        await self.going.wait()
        number = kind + 1 if self.plain else kind
        if number == 1:  # SET: its key is read before anything is done
            await self._text(reader)
        if number == 3:
            value = self.keys[(await self._text(reader)).decode()]
            writer.write(struct.pack("<Q", len(value)) + value)
        elif number == 5:
            (count,) = struct.unpack("<Q", await reader.readexactly(8))
            keys = [(await self._text(reader)).decode() for _ in range(count)]
            writer.write(bytes([0 if all(key in self.keys for key in keys) else 1]))
        elif number == 7:
            writer.write(struct.pack("<q", len(self.keys)))
        else:
            self.forbidden.append(number)
            raise ConnectionError

    async def _text(self, reader: asyncio.StreamReader) -> bytes:
        (size,) = struct.unpack("<Q", await reader.readexactly(8))
        if size > MOST_MEMORY:
            raise MemoryError
        return await reader.readexactly(size)
