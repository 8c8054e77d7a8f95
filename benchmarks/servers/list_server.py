"""Serves pods to be listed and watched: pages of ``limit``, and a watch that sends all events at once and ends.

Started as ``python -m benchmarks.servers.list_server PODS``; prints its port. The server writes HTTP itself, from
prepared bytes, so that it takes little CPU beside the client that is measured.
"""

import asyncio
import sys
from urllib.parse import parse_qs, urlsplit

from benchmarks.servers.synthetic_pods import encoded


async def serve(pods: list[bytes], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve one connection until the client closes it."""
    while head := await _head(reader):
        query = parse_qs(urlsplit(head.split(b" ", 2)[1].decode()).query)
        if query.get("watch"):
            await _watch(pods, writer)
        else:
            _page(pods, int(query.get("continue", ["0"])[0]), int(query.get("limit", ["0"])[0]), writer)
        await writer.drain()
    writer.close()


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


def _page(pods: list[bytes], start: int, limit: int, writer: asyncio.StreamWriter) -> None:
    end = start + limit if limit else len(pods)
    proceed = str(end) if end < len(pods) else ""
    body = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9","continue":"%s"},"items":[%s]}' % (
        proceed.encode(),
        b",".join(pods[start:end]),
    )
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body))
    writer.write(body)


async def _watch(pods: list[bytes], writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
    for pod in pods:
        line = b'{"type":"ADDED","object":%s}\n' % pod
        writer.write(b"%x\r\n%s\r\n" % (len(line), line))
        if writer.transport.get_write_buffer_size() > 1 << 20:
            await writer.drain()
    writer.write(b"0\r\n\r\n")


async def main(count: int) -> None:
    """Serve until stdin closes: the server never outlives who started it."""
    pods = [encoded(number, number + 1) for number in range(count)]
    server = await asyncio.start_server(lambda reader, writer: serve(pods, reader, writer), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
