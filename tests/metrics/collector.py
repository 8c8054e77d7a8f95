"""A collector of OpenTelemetry traces on the loopback interface."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@asynccontextmanager
async def collector() -> AsyncIterator[tuple[str, list[ExportTraceServiceRequest]]]:
    """Its address and what it was sent."""
    received: list[ExportTraceServiceRequest] = []

    async def take(request: web.Request) -> web.Response:
        assert request.content_type == "application/x-protobuf"
        received.append(ExportTraceServiceRequest.FromString(await request.read()))
        return web.Response()

    application = web.Application()
    application.router.add_post("/v1/traces", take)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", received
    finally:
        await runner.cleanup()
