"""The daemon's HTTP server: metrics, health, and the roll call for people and for programs.

Apart from health and runbooks, every answer is for a reader that ``readers`` knows, and holds what that reader may see.

A standby forwards requests for pages and documents to the leader (``forwarding``), and answers the others itself.

It only reads: GET and HEAD, no bodies, no cookies, no files but the script of the page. The work that a stranger can
cause is bounded: connections and their time (see ``connections``), streams (``live``), the length of a request, the
time to answer it, and one scrape at a time. In a pod the kubelet's probes do not come here but to a listener of their
own (``health``).

======================================  =====================================================================
``/metrics``                            OpenMetrics for those who ask for it, else the Prometheus text format
``/livez``                              200 while the event loop beats, else 503 with what is wrong
``/readyz``                             200 while nothing keeps the daemon from deciding, else 503 with what does
                                        (watches, rights, the Lease), and whether this daemon leads
``/``                                   the page of all experiments; its filters are parameters (``fleet.Filters``)
``/experiments.json``                   a listing with the same filters; ``?limit=`` and ``?after=`` (``fleet``)
``/incidents.json``                     what keeps several runs at once (``pages``)
``/nodes.json``                         the nodes that failed runs, and which are suspect (``pages``)
``/experiments/<namespace>/<name>``     one experiment's page; with ``.json``, its document; ``jobset/<name>`` for
                                        an object of another kind; with ``.tar.gz``, its bundle (``bundles``)
``/events`` before the path of a page   the changes of that page, as server-sent events (``live``)
``/page.js``                            the script of the page
``/runbooks/<page>.md``                 a page of runbooks; ``/runbooks/`` lists all, ``/runbooks/<alert>.md`` leads
                                        to the heading of that alert (``page.document``)
======================================  =====================================================================
"""

import asyncio
import re
import ssl
from collections.abc import Collection, Sequence
from contextlib import nullcontext

import msgspec
from aiohttp import web
from prometheus_client.registry import Collector

from muster.daemon.web.bundles import Bundles
from muster.daemon.web.connections import Limits, Listener
from muster.daemon.web.forwarding import FORWARDED, Leader
from muster.daemon.web.health import Health, probe_answer
from muster.daemon.web.live import Changes, Ended, Streams
from muster.daemon.web.page.document import INDEX, POLICY, REFRESH, SCRIPT, SCRIPT_PATH, SUFFIX, book
from muster.daemon.web.page.html import Part
from muster.daemon.web.pages import Pages
from muster.daemon.web.progress import PASSED_ON
from muster.daemon.web.readers import (
    SIGN_IN,
    UNENCRYPTED,
    Anyone,
    Authenticator,
    Reader,
    Refused,
    asks_browsers,
    check_host,
    token_of,
)
from muster.metrics.exposition import look, write
from muster.metrics.runbooks import PLACES, SERVED

ANSWER_WITHIN = 10.0
"""Seconds a request may take."""

READERS = Limits()
"""The limits of the listener for people, programs and scrapers."""

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Server": "musterd",
    "X-Content-Type-Options": "nosniff",
}

_STREAM = {"Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no"}
"""The headers of a stream: nginx collects an answer before it forwards it, unless the last one disables that."""

_PASSING = (429, 503)
"""Statuses of refusals that do not depend on the reader's rights."""

ARCHIVE = ".tar.gz"

_PROGRAMS = ("WWW-Authenticate", 'Bearer realm="musterd"')
_BROWSERS = ("WWW-Authenticate", 'Basic realm="musterd: a token"')
"""A browser takes this challenge and asks its user (see ``readers``)."""


class HttpServer(Listener):
    """The server of pages, documents and metrics."""

    def __init__(
        self,
        registry: Collector,
        health: Health,
        pages: Pages,
        host: str,
        port: int,
        *,
        authenticator: Authenticator | None = None,
        names: Collection[str] = (),
        limits: Limits = READERS,
        streams: Streams | None = None,
        tls: ssl.SSLContext | None = None,
        bundles: Bundles | None = None,
        leader: Leader | None = None,
    ) -> None:
        """``authenticator`` decides who may read (None: everyone); ``leader`` answers for a standby.

        ``names`` are Host names beside addresses and ``localhost``; ``streams`` serves the live pages; ``bundles``
        makes bundles of runs.
        """
        super().__init__(self._respond, host, port, limits, tls)
        self._registry = registry
        self._health = health
        self._pages = pages
        self._authenticator = authenticator or Anyone()
        self._bundles = bundles
        self._streams = streams or Streams(Changes())
        self._names = names
        self._leader = leader or Leader()
        self._scrape = asyncio.Lock()

    async def stop(self) -> None:
        """Stop listening, end the streams and close every connection. May be called at any time, and twice."""
        self._streams.changes.close()
        await self._leader.close()
        await super().stop()

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        response: web.StreamResponse
        if request.method not in ("GET", "HEAD"):
            response = _text("Only GET and HEAD are answered here.", 405)
            response.headers["Allow"] = "GET, HEAD"
        elif request.can_read_body:
            response = _text("A request here has no body.", 413)
            response.force_close()
        else:
            try:
                async with asyncio.timeout(ANSWER_WITHIN) as patience:
                    response = await self._route(request, patience)
            except TimeoutError:
                again = f"A browser asks again in {REFRESH} s."
                response = _text(f"musterd is busy and has not answered within {ANSWER_WITHIN:g} s. {again}", 503)
                response.headers["Refresh"] = str(REFRESH)
            except Refused as refused:
                response = _refusal(refused, request)
        if not response.prepared:
            response.headers.update(_HEADERS)
        return response

    async def _route(self, request: web.BaseRequest, patience: asyncio.Timeout) -> web.StreamResponse:
        check_host(request.headers.getall("Host", []), self._names)
        if not request.raw_path.startswith("/"):  # it names a host of its own, which no header check covers
            raise Refused(400, "The target of a request is a path here.")
        if probe := probe_answer(request.path, self._health):
            return probe
        if request.path.startswith(f"{SERVED}/"):
            name = request.path.removeprefix(f"{SERVED}/") or INDEX
            if page := book(name):
                return _html(page)
            if place := PLACES.get(name.removesuffix(SUFFIX)):  # tables of alerts on dashboards have its name alone
                return web.Response(status=302, headers={"Location": place})
        if PASSED_ON in request.headers and isinstance(self._authenticator, Anyone):
            raise Refused(421, "Readers of this musterd have no names, so none of another musterd is answered.")
        reader = await self._reader(request)
        parts = request.path.split("/")[1:]
        if parts[0] in FORWARDED and (response := await self._forwarded(request, reader, parts, patience)):
            return response
        match parts:
            case [""]:
                return _html((await self._pages.fleet(reader, request.query))[1])
            case ["metrics"]:
                await reader.check_metrics()
                return await self._metrics(request)
            case ["experiments.json"]:
                return _json(await self._pages.listing(reader, request.query.items()))
            case ["incidents.json"]:
                return _json(await self._pages.incident_listing(reader))
            case ["nodes.json"]:
                return _json(await self._pages.nodes(reader))
            case ["experiments", namespace, *parts] if 1 <= len(parts) <= 2:  # kind and name, of another kind
                name = "/".join(parts)
                await reader.check_experiment(namespace, name.removesuffix(".json").removesuffix(ARCHIVE))
                if name.endswith(ARCHIVE):
                    return await self._bundle(reader, namespace, name.removesuffix(ARCHIVE), request, patience)
                return self._one(reader, namespace, name, request)
            case ["events", *path] if path[:1] in ([""], ["experiments"]) and len(path) <= 4:
                return await self._events(request, reader, path, patience)
            case _ if request.path == SCRIPT_PATH:
                return web.Response(text=SCRIPT, content_type="text/javascript", charset="utf-8")
            case _:
                return _text("Nothing here. Try /, /experiments.json, /metrics, /livez or /readyz.", 404)

    async def _forwarded(
        self, request: web.BaseRequest, reader: Reader, parts: Sequence[str], patience: asyncio.Timeout
    ) -> web.StreamResponse | None:
        """Return the leader's answer; None if this daemon leads, or has to answer in the leader's place."""
        bundle = parts[-1].endswith(ARCHIVE)
        counted = self._streams.admitted(request.remote or "", reader.name) if parts[0] == "events" else nullcontext()
        with counted:
            return await self._leader.forward(request, patience, self.unhurried, slow=bundle)

    async def _reader(self, request: web.BaseRequest) -> Reader:
        return await self._authenticator.reader(request.headers.getall("Authorization", []), request.remote or "")

    async def _metrics(self, request: web.BaseRequest) -> web.Response:
        async with self._scrape:
            seen = look(self._registry)
            accept, encodings = (",".join(request.headers.getall(name, [])) for name in ("Accept", "Accept-Encoding"))
            gzipped = "gzip" in encodings.lower()
            body, content_type = await asyncio.to_thread(write, seen, accept, gzipped=gzipped)
            headers = {"Content-Type": content_type} | ({"Content-Encoding": "gzip"} if gzipped else {})
        return web.Response(body=body, headers=headers)

    def _one(self, reader: Reader, namespace: str, name: str, request: web.BaseRequest) -> web.Response:
        subject = self._pages.find(namespace, name.removesuffix(".json"))
        if name.endswith(".json"):
            return _json(self._pages.document(subject))
        return _html(self._pages.experiment(reader, subject, request.query)[1])

    async def _bundle(
        self, reader: Reader, namespace: str, name: str, request: web.BaseRequest, patience: asyncio.Timeout
    ) -> web.Response:
        self._pages.find(namespace, name)
        if self._bundles is None:
            raise Refused(404, "This daemon makes no bundles.")
        if request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise Refused(403, "A page of another site may not ask for a bundle.")
        token = token_of(request.headers.getall("Authorization", []))
        if token is None:
            raise Refused(401, SIGN_IN)
        headers = {"Content-Disposition": f'attachment; filename="{named(namespace, name)}"'}
        body = b""
        if request.method == "GET":
            patience.reschedule(None)  # the bundle bounds its own time
            body = await self._bundles.make(reader.name, token, namespace, name)
        return web.Response(body=body, content_type="application/gzip", headers=headers)

    async def _events(
        self, request: web.BaseRequest, reader: Reader, path: list[str], patience: asyncio.Timeout
    ) -> web.StreamResponse:
        """Serve the stream of a page. The reader is checked before each rendering, by its token too."""
        namespace, name = (path[1], "/".join(path[2:])) if len(path) > 2 else ("", "")
        uid = ""
        if name:
            await reader.check_experiment(namespace, name)
            uid = self._pages.find(namespace, name).plan.uid
        elif path != [""]:
            return _text("A stream has the address of a page behind /events.", 404)

        leader = self._leader.address()

        async def render() -> Part:
            if self._leader.address() != leader:  # the browser opens the stream again, and is led to that one
                raise ConnectionAbortedError
            try:
                reader = await self._reader(request)
                if not name:
                    return (await self._pages.fleet(reader, request.query))[0]
                await reader.check_experiment(namespace, name)
                return self._pages.experiment(reader, self._pages.find(namespace, name), request.query)[0]
            except Refused as refused:
                if refused.status in _PASSING:  # the browser opens the stream again, or loads the page until it can
                    raise ConnectionAbortedError from None
                raise Ended("the experiment is gone" if refused.status == 404 else refused.text) from None

        with self._streams.admitted(request.remote or "", reader.name):
            response = web.StreamResponse(headers=_HEADERS | _STREAM)
            await response.prepare(request)
            if request.method == "GET":
                patience.reschedule(None)
                seen = request.headers.get("Last-Event-ID") or request.query.get("version", "")
                try:
                    await self._streams.serve(
                        uid, seen, render, response.write, lambda end: self.unhurried(request, end)
                    )
                except (TimeoutError, ConnectionError):  # the reader is gone, or does not read
                    if request.transport is not None:
                        request.transport.abort()
            return response


def named(namespace: str, name: str) -> str:
    """Return the file name of a bundle."""
    return re.sub("[^A-Za-z0-9._-]", "-", f"{namespace}-{name}{ARCHIVE}")


def _refusal(refused: Refused, request: web.BaseRequest) -> web.Response:
    if refused.status != 401:
        return _text(refused.text, refused.status)
    asked = request.secure or asks_browsers(
        request.headers.get("Host", ""), request.headers.get("X-Forwarded-Proto", "")
    )
    response = _text(refused.text if asked else f"{refused.text}\n{UNENCRYPTED}", 401)
    response.headers.extend([_PROGRAMS, _BROWSERS] if asked else [_PROGRAMS])
    return response


def _text(text: str, status: int) -> web.Response:
    return web.Response(text=f"{text}\n", status=status)


def _html(text: str) -> web.Response:
    response = web.Response(text=text, content_type="text/html")
    response.enable_compression()
    return response


def _json(document: msgspec.Struct) -> web.Response:
    response = web.Response(body=msgspec.json.encode(document), content_type="application/json")
    response.enable_compression()
    return response
