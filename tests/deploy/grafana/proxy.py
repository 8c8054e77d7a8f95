"""A proxy between musterd and the API server that refuses chosen requests and can cut all watches."""

import asyncio
import json
import ssl
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from muster.local.home import write_kubeconfig
from tests.fakes.apiserver import Reply, Request, api_server, refusal

_PASSED = ("authorization", "accept", "content-type", "user-agent")


@dataclass(slots=True)
class Refusal:
    """Requests that are refused: those with this method whose path ends so, and whose body has these words.

    ``times`` limits how many; None refuses all.
    """

    method: str
    path: str
    words: str
    code: int
    reason: str
    message: str
    times: int | None = None

    def matches(self, request: Request) -> bool:
        """Whether this request is refused; counts it."""
        if request.method != self.method or not request.path.endswith(self.path) or self.times == 0:
            return False
        if self.words.encode() not in request.body:
            return False
        if self.times is not None:
            self.times -= 1
        return True


@dataclass(slots=True)
class Proxy:
    """Forwards to ``url`` what no refusal matches."""

    url: str
    session: aiohttp.ClientSession
    refusals: list[Refusal]
    _watches: dict[int, Reply] = field(default_factory=dict)

    def cut_watches(self) -> None:
        """Reset the connections of all open watches."""
        for reply in self._watches.values():
            reply.reset()
        self._watches.clear()

    async def step(self, request: Request, reply: Reply) -> None:
        for refused in self.refusals:
            if refused.matches(request):
                waits = {"Retry_After": "1"} if refused.code == 429 else {}
                await refusal(refused.code, refused.reason, refused.message, **waits)(request, reply)
                return
        async with self.session.request(
            request.method,
            self.url + request.path,
            params=request.params,
            data=request.body or None,
            headers={name: request.headers[name] for name in _PASSED if name in request.headers},
            timeout=aiohttp.ClientTimeout(total=None if request.watches else 60.0),
        ) as answer:
            if not request.watches:
                await reply.send(answer.status, await answer.read())
                return
            await reply.begin(answer.status)
            self._watches[id(reply)] = reply
            try:
                async for piece in answer.content.iter_any():
                    await reply.chunk(piece)
                await reply.end()
            finally:
                self._watches.pop(id(reply), None)


@asynccontextmanager
async def proxy(kubeconfig: Path, through: Path, refusals: list[Refusal]) -> AsyncIterator[Proxy]:
    """A proxy to the cluster of ``kubeconfig``. ``through`` becomes a kubeconfig that leads through the proxy."""
    config = json.loads(await asyncio.to_thread(kubeconfig.read_text))  # the local cluster writes JSON
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    context = ssl.create_default_context(cadata=b64decode(cluster["certificate-authority-data"]).decode())
    connector = aiohttp.TCPConnector(ssl=context, limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        running = Proxy(cluster["server"], session, refusals)
        async with api_server(otherwise=running.step) as server:
            write_kubeconfig(through, url=server.url, token=user["token"])
            yield running
