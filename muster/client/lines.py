"""Bytes in, lines out, whatever the chunks: the reader under watches and followed logs.

aiohttp's own ``readline`` fails on lines beyond its buffer; an object of a few megabytes is legal on Kubernetes.
"""

from collections.abc import AsyncIterator

from muster.api.errors import Unreachable

MAX_LINE = 32 * 1024 * 1024
"""Longest line that is put together, in bytes; the API server's own limit for an object is below 3 MiB."""


async def split_lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The lines in ``chunks``, without their newline.

    The last one needs none (programs end in the middle of a line).
    """
    pending: list[bytes] = []
    size = 0
    async for chunk in chunks:
        first, *rest = chunk.split(b"\n")
        pending.append(first)
        size += len(first)
        if size > MAX_LINE:
            raise Unreachable(f"the server sent a line of more than {MAX_LINE} bytes")
        for piece in rest:
            yield b"".join(pending)
            pending, size = [piece], len(piece)
    if size:
        yield b"".join(pending)
