"""A Ray head as its probe sees it: a dashboard and an agent that answer what a test wants."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]
NODES, VERSION, GCS, AGENT = "/api/v0/nodes", "/api/version", "/api/gcs_healthz", "/api/healthz"


def node(ip: str, state: str = "ALIVE", head: bool = False, group: str = "w", why: str | None = None) -> dict[str, Any]:
    """One entry of the list of nodes."""
    labels = {"ray.io/node-group": group}
    return {"node_ip": ip, "state": state, "is_head_node": head, "state_message": why, "labels": labels}


def listing(*nodes: dict[str, Any], total: int | None = None) -> dict[str, Any]:
    """The list of nodes, as the state API wraps it."""
    page = {"total": len(nodes) if total is None else total, "result": list(nodes)}
    return {"result": True, "msg": "", "data": {"result": page}}


async def hang(_: web.Request) -> web.StreamResponse:
    """Answer nothing, as a frozen process."""
    await asyncio.Event().wait()
    raise AssertionError


@dataclass
class FakeRay:
    """Serves ``answers`` by path; a path without an answer is 404. One server stands for dashboard and agent."""

    answers: dict[str, Any] = field(default_factory=dict)
    token: str = ""
    asked: list[web.Request] = field(default_factory=list)
    port: int = 0
    _runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, shutdown_timeout=0, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request)
        open_to_all = request.path in (GCS, AGENT)
        if self.token and not open_to_all and request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.Response(status=401, text="Unauthorized")
        answer = self.answers.get(request.path)
        if answer is None:
            return web.Response(status=404, text="Job does not exist")
        if callable(answer):
            found: web.StreamResponse = await answer(request)
            return found
        if isinstance(answer, tuple):
            return web.Response(status=answer[0], text=answer[1])
        if isinstance(answer, int):
            return web.Response(status=answer, text="RPC error: Deadline Exceeded")
        return web.Response(text=answer) if isinstance(answer, str) else web.json_response(answer)
