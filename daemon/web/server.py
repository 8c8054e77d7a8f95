"""The daemon's HTTP server: metrics, health, and the roll call for people and for programs.

Apart from health, every answer is for a reader that ``readers`` knows, and holds what that reader may see.

It only reads: GET and HEAD, no bodies, no cookies, no files. What a stranger can make it do is bounded: connections
and their time (see ``connections``), the length of a request, the time to answer it, and one scrape at a time. In a
pod the kubelet's probes do not come here but to a listener of their own (``health``).

======================================  =====================================================================
``/metrics``                            OpenMetrics for those who ask for it, else the Prometheus text format
``/livez``                              200 while the event loop beats, else 503 with what is wrong
``/readyz``                             200 while nothing keeps the daemon from deciding, else 503 with what does
                                        (watches, rights, the Lease); says whether this daemon leads
``/``                                   the page
``/experiments.json``                   a listing; ``?limit=`` (1 to 1000) and ``?after=namespace/name``
``/experiments/<namespace>/<name>``     one experiment's page; with ``.json``, its document; ``jobset/<name>`` for
                                        an object of another kind
======================================  =====================================================================
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Protocol

import msgspec
from aiohttp import web
from prometheus_client.registry import Collector

from muster.daemon.web import page, rollcall
from muster.daemon.web.connections import Limits, Listener
from muster.daemon.web.health import Health, probe_answer
from muster.daemon.web.readers import Anyone, Authenticator, Reader, Refused, check_host
from muster.daemon.web.schemas import Listing
from muster.metrics.collector import Subject
from muster.metrics.exposition import compressed, look, write
from muster.state.plan import Plan
from muster.state.record import Record
from muster.state.rules import ClockName

ANSWER_WITHIN = 10.0
"""Seconds a request may take."""

READERS = Limits()
"""Of the listener for people, programs and scrapers."""

SHOWN = 500
"""Experiments on the page, and in a listing that names no limit."""

MOST = 1000
"""Experiments in any listing."""

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": page.POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Server": "musterd",
    "X-Content-Type-Options": "nosniff",
}

_CHALLENGES = (("WWW-Authenticate", 'Bearer realm="musterd"'), ("WWW-Authenticate", 'Basic realm="musterd: a token"'))
"""A browser takes the second and asks its user (see ``readers``)."""


class ExperimentIndex(Protocol):
    """The experiments as they are at this moment."""

    def subjects(self) -> Iterable[Subject]:
        """Every experiment that has a plan and a record."""

    def find(self, namespace: str, name: str) -> Subject | None:
        """The experiment of that name, or None."""

    def clocks(self, plan: Plan, record: Record) -> Mapping[ClockName, float]:
        """The running clocks of an experiment and the wall second each runs out."""


class HttpServer(Listener):
    """Serves pages, documents and metrics. ``clock`` gives wall seconds."""

    def __init__(
        self,
        registry: Collector,
        health: Health,
        index: ExperimentIndex,
        host: str,
        port: int,
        *,
        clock: Callable[[], float],
        authenticator: Authenticator | None = None,
        names: Collection[str] = (),
        limits: Limits = READERS,
    ) -> None:
        """``leadership`` gives the text of ``/readyz`` for a daemon that is ready.

        ``readers`` decides who may read (None: everyone); ``names`` are Host names beside addresses and ``localhost``.
        """
        super().__init__(self._respond, host, port, limits)
        self._registry = registry
        self._health = health
        self._index = index
        self._clock = clock
        self._authenticator = authenticator or Anyone()
        self._names = names
        self._scrape = asyncio.Lock()

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method not in ("GET", "HEAD"):
            response = _text("Only GET and HEAD are answered here.", 405)
            response.headers["Allow"] = "GET, HEAD"
        elif request.can_read_body:
            response = _text("A request here has no body.", 413)
            response.force_close()
        else:
            try:
                async with asyncio.timeout(ANSWER_WITHIN):
                    response = await self._route(request)
            except TimeoutError:
                response = _text(f"No answer within {ANSWER_WITHIN:g} s: the daemon is busy.", 503)
            except Refused as refused:
                response = _text(refused.text, refused.status)
                if refused.status == 401:
                    response.headers.extend(_CHALLENGES)
        response.headers.update(_HEADERS)
        return response

    async def _route(self, request: web.BaseRequest) -> web.Response:
        check_host(request.headers.getall("Host", []), self._names)
        if probe := probe_answer(request.path, self._health):
            return probe
        reader = await self._authenticator.reader(request.headers.getall("Authorization", []), request.remote or "")
        match request.path.split("/")[1:]:
            case [""]:
                listing, scope = await self._listing(reader, SHOWN, urgent_first=True)
                return _html(page.overview(listing, scope, _refresh(request)))
            case ["metrics"]:
                await reader.check_metrics()
                return await self._metrics(request)
            case ["experiments.json"]:
                return await self._list(reader, request)
            case ["experiments", namespace, *parts] if 1 <= len(parts) <= 2:  # kind and name, where the kind is foreign
                name = "/".join(parts)
                await reader.check_experiment(namespace, name.removesuffix(".json"))
                return self._one(namespace, name, _refresh(request))
            case _:
                return _text("Nothing here. Try /, /experiments.json, /metrics, /livez or /readyz.", 404)

    async def _metrics(self, request: web.BaseRequest) -> web.Response:
        async with self._scrape:
            seen = look(self._registry)
            accept, encodings = (",".join(request.headers.getall(name, [])) for name in ("Accept", "Accept-Encoding"))
            body, content_type = await asyncio.to_thread(write, seen, accept)
            headers = {"Content-Type": content_type}
            if "gzip" in encodings.lower():
                body = await asyncio.to_thread(compressed, body)
                headers["Content-Encoding"] = "gzip"
        return web.Response(body=body, headers=headers)

    async def _listing(
        self, reader: Reader, limit: int, after: str = "", urgent_first: bool = False
    ) -> tuple[Listing, str]:
        """What the reader may list, and a sentence that says so where it is not everything."""
        namespaces: Collection[str] | None = None
        if not await reader.sees_all():
            namespaces = await reader.namespaces(subject.plan.namespace for subject in self._index.subjects())
        listing = rollcall.listing(
            (one for one in self._index.subjects() if namespaces is None or one.plan.namespace in namespaces),
            self._index.clocks,
            self._clock(),
            limit=limit,
            after=after,
            urgent_first=urgent_first,
        )
        return listing, "" if namespaces is None else f"Those in namespaces where {reader.name} may list experiments."

    async def _list(self, reader: Reader, request: web.BaseRequest) -> web.Response:
        asked = request.query.get("limit", str(SHOWN))
        if not (asked.isascii() and asked.isdigit() and len(asked) <= 4 and 1 <= int(asked) <= MOST):
            return _text(f"limit is a number from 1 to {MOST}.", 400)
        listing, _ = await self._listing(reader, int(asked), request.query.get("after", ""))
        return _json(listing)

    def _one(self, namespace: str, name: str, refresh: bool) -> web.Response:
        as_json = name.endswith(".json")
        subject = self._index.find(namespace, name.removesuffix(".json"))
        if subject is None:
            return _text("This daemon knows no experiment of that namespace and name.", 404)
        clocks = self._index.clocks(subject.plan, subject.record)
        document = rollcall.detail(subject, clocks, self._clock())
        return _json(document) if as_json else _html(page.story(document, refresh))


def _refresh(request: web.BaseRequest) -> bool:
    return request.query.get("refresh") != "no"


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
