"""The way from a standby to the leader: pages and documents, with their streams and bundles.

Only the leader knows watched runs and incidents, and a Service leads to all replicas. So a standby asks the leader,
whose address is an annotation of the Lease, and streams the answer back as it comes. It has checked the Host header and
the token before; the rights are checked by the leader, with the same token. A request is forwarded once: a daemon
answers what another one has forwarded. One that asks no reader for a token answers no forwarded request, because
the reader may be on another machine. Its 421, or no answer in time, means that the standby serves its own page.

With TLS the leader must present the certificate of this daemon: all replicas mount the same Secret. Until the kubelets
of both have replaced a renewed one, each replica serves its own page. Without TLS the token crosses the network of the
cluster in the clear, as it does between an Ingress and a pod. An address that another pod has taken over may get
it until the Lease runs out, as behind a Service.

The leader counts forwarded connections and streams by the standby's address; the standby counts streams by the
reader's, too, and waits for its turn beyond ``AT_ONCE`` connections.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import aiohttp
import structlog
from aiohttp import web
from yarl import URL

from muster.daemon.web.certificate import ServerCertificate
from muster.daemon.web.connections import Limits
from muster.daemon.web.live import HEARTBEAT, TAKE
from muster.daemon.web.progress import PASSED_ON

log = structlog.get_logger()

FORWARDED: Final = frozenset({"", "experiments.json", "incidents.json", "nodes.json", "experiments", "events"})
"""First parts of the paths that are forwarded."""
AT_ONCE: Final = Limits().per_peer
"""Most connections to the leader: those that it takes from one address."""
CONNECT = 2.0
"""Seconds to connect to the leader."""
ANSWER = 5.0
"""Seconds within which the leader's answer must begin. The standby has as many left for its own page."""
_ASKED: Final = ("Host", "Authorization", "Accept-Encoding", "Last-Event-ID", "Sec-Fetch-Site", "X-Forwarded-Proto")
"""The headers that an answer depends on."""
_OF_CONNECTION: Final = ("Connection", "Keep-Alive", "Transfer-Encoding")
"""Headers of an answer that concern one connection (RFC 9110, 7.6.1)."""


class Leader:
    """The leader, as a standby asks it.

    ``address`` returns host and port of its page, empty if this daemon leads or knows no leader; ``certificate`` is
    that of this daemon's page.
    """

    def __init__(self, address: Callable[[], str] = lambda: "", certificate: ServerCertificate | None = None) -> None:
        self.address = address
        self._certificate = certificate
        self._client: aiohttp.ClientSession | None = None
        self._silent = ""
        """The address of the last leader that did not answer."""

    async def close(self) -> None:
        """End all forwarded answers. From then on this daemon answers by itself."""
        self.address = lambda: ""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def forward(
        self,
        request: web.BaseRequest,
        patience: asyncio.Timeout,
        unhurried: Callable[[web.BaseRequest, Callable[[], None]], None],
        *,
        slow: bool,
    ) -> web.StreamResponse | None:
        """Send the leader's answer, and return it when it has ended; None if this daemon has to answer by itself.

        A ``slow`` answer may begin late: the leader bounds its time. ``unhurried`` is that of ``Listener``.
        """
        address = self.address()
        if not address or PASSED_ON in request.headers:
            return None
        if slow:
            patience.reschedule(None)
        try:
            async with asyncio.timeout(None if slow else ANSWER):
                answer = await self._ask(address, request)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if self._silent != address:
                log.warning("the leader's page does not answer, serving my own", address=address, error=str(error))
            self._silent = address
            return None
        self._silent = ""
        async with answer:
            if answer.status == 421:
                return None
            patience.reschedule(None)  # the listener bounds the rest
            headers = answer.headers.copy()
            for name in _OF_CONNECTION:
                headers.popall(name, None)
            response = web.StreamResponse(status=answer.status, headers=headers)
            if answer.content_type == "text/event-stream":
                unhurried(request, answer.close)
            try:
                await response.prepare(request)
                async for part in answer.content.iter_any():
                    async with asyncio.timeout(TAKE):
                        await response.write(part)
            except (aiohttp.ClientError, OSError):  # one of the two is gone, or the reader does not read
                if request.transport is not None:
                    request.transport.abort()
            return response

    async def _ask(self, address: str, request: web.BaseRequest) -> aiohttp.ClientResponse:
        if self._client is None:
            self._client = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=AT_ONCE, force_close=True),
                timeout=aiohttp.ClientTimeout(sock_connect=CONNECT, sock_read=2 * HEARTBEAT),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                skip_auto_headers=("Accept-Encoding",),
            )
        scheme = "https" if self._certificate else "http"
        return await self._client.request(
            request.method,
            URL(f"{scheme}://{address}{request.raw_path}", encoded=True),
            headers={name: request.headers[name] for name in _ASKED if name in request.headers} | {PASSED_ON: "1"},
            ssl=aiohttp.Fingerprint(self._certificate.fingerprint()) if self._certificate else True,
            allow_redirects=False,
        )
