"""A registry that answers when a test lets it: in front of the run's own, with the same images."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import aiohttp
from aiohttp import web

from tests.real_node.addresses import HOST, REGISTRY, SLOW_REGISTRY


@contextlib.asynccontextmanager
async def slow_registry() -> AsyncIterator[asyncio.Event]:
    """Serve it; each request waits for the event."""
    answers = asyncio.Event()
    behind = f"http://{HOST}:{REGISTRY.rpartition(':')[2]}"

    async def ask(request: web.Request) -> web.StreamResponse:
        await answers.wait()
        wanted = {key: value for key, value in request.headers.items() if key in ("Accept", "Range")}
        async with session.request(request.method, f"{behind}{request.rel_url}", headers=wanted) as found:
            kept = ("Content-Type", "Content-Length", "Docker-Content-Digest", "Content-Range", "ETag")
            response = web.StreamResponse(
                status=found.status, headers={key: found.headers[key] for key in kept if key in found.headers}
            )
            await response.prepare(request)
            async for part in found.content.iter_chunked(1 << 16):
                await response.write(part)
            return response

    application = web.Application()
    application.router.add_get("/{path:.*}", ask)  # and HEAD
    async with aiohttp.ClientSession() as session:
        runner = web.AppRunner(application)
        await runner.setup()
        try:
            await web.TCPSite(runner, HOST, int(SLOW_REGISTRY.rpartition(":")[2])).start()
            yield answers
        finally:
            answers.set()
            await runner.cleanup()
