"""Handles every request: authentication, discovery and health paths, and dispatch to the handler of the verb.

SelfSubject*Review requests. Every user of a local cluster is system:admin and may do everything.
"""

import hmac
import sqlite3
from collections.abc import Awaitable, Callable

import structlog
from aiohttp import web

from muster.local.apiserver.errors import ApiError, method_not_allowed, unknown_path
from muster.local.apiserver.http import bodies, discovery
from muster.local.apiserver.http.bodies import failure_reply, json_reply
from muster.local.apiserver.http.pod_subresources import PodSubresources
from muster.local.apiserver.http.read_handlers import ReadHandlers
from muster.local.apiserver.http.request_info import Query, RequestInfo, parse, segments
from muster.local.apiserver.http.write_handlers import WriteHandlers
from muster.local.apiserver.kinds.resources import Registry, Resource
from muster.local.apiserver.objects.account_tokens import AccountTokens
from muster.local.apiserver.storage.stored_objects import Json, encode

Handler = Callable[[web.BaseRequest, RequestInfo, Query], Awaitable[web.StreamResponse]]
_FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError)
_HEALTH = frozenset(("healthz", "livez", "readyz"))
_FROM_BROWSERS = frozenset(("origin", "sec-fetch-site", "sec-fetch-mode"))
_log = structlog.get_logger(__name__)


class RequestHandler:
    """The entry point of all requests. If `token` is None, requests need no token."""

    def __init__(
        self,
        registry: Registry,
        read: ReadHandlers,
        write: WriteHandlers,
        pods: PodSubresources,
        tokens: AccountTokens,
        token: str | None,
    ) -> None:
        self._registry = registry
        self._read = read
        self._write = write
        self._pods = pods
        self._account_tokens = tokens
        self._token = token.encode() if token is not None else None

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request. Every refusal is a Status."""
        try:
            return await self._route(request)
        except ApiError as failure:
            return failure_reply(failure)
        except ConnectionError:
            raise
        except (*_FAULTS, sqlite3.Error):
            # An unexpected error fails this request and no other.
            _log.exception("request failed", method=request.method, path=request.path)
            return failure_reply(ApiError(500, "InternalError", "an error on the server; see the local cluster's log"))

    async def _route(self, request: web.BaseRequest) -> web.StreamResponse:
        parts = segments(request.rel_url.raw_path)
        first = parts[0] if parts else ""
        if first in _HEALTH:
            return web.Response(text="ok")
        if not _FROM_BROWSERS.isdisjoint(name.lower() for name in request.headers):
            # A web page must not reach a cluster on the loopback, neither by a form nor by DNS rebinding.
            raise ApiError(403, "Forbidden", "requests from web browsers are not served")
        self._authenticate(request)
        if request.method == "GET" and (found := self._static(parts)) is not None:
            return found
        if first not in ("api", "apis") or len(parts) < 3:
            raise unknown_path()
        info = parse(parts, self._registry)
        query = Query(request.query)
        return await self._verb(request, info, query)(request, info, query)

    def _authenticate(self, request: web.BaseRequest) -> None:
        if self._token is None:
            return
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode("utf-8", "replace"), self._token):
            raise ApiError(401, "Unauthorized", "Unauthorized")

    def _static(self, parts: list[str]) -> web.Response | None:
        found: Json
        match parts:
            case ["version"]:
                found = discovery.VERSION
            case ["api"]:
                found = discovery.core()
            case ["apis"]:
                found = discovery.groups(self._registry)
            case ["api", version]:
                found = discovery.resources(self._registry, "", version)
            case ["apis", group, version]:
                found = discovery.resources(self._registry, group, version)
            case ["openapi", "v3"]:
                found = discovery.openapi_index(self._registry)
            case ["openapi", "v3", "api", version]:
                found = discovery.openapi_document(self._registry, "", version)
            case ["openapi", "v3", "apis", group, version]:
                found = discovery.openapi_document(self._registry, group, version)
            case _:
                return None
        return json_reply(encode(found))

    def _verb(self, request: web.BaseRequest, info: RequestInfo, query: Query) -> Handler:
        method, name = request.method, info.name
        if info.resource.verbs == ("create",):
            if method == "POST" and info.subresource == "token":
                return self._token_request
            if method == "POST" and not name and info.resource.plural != "serviceaccounts":
                return self._review
            raise method_not_allowed(method)
        if info.subresource not in ("", "status"):
            return self._action(method, info.subresource)
        match method:
            case "GET" if query.flag("watch"):
                return self._read.watch
            case "GET":
                return self._read.get if name else self._read.list
            case "POST" if not name:
                return self._write.create
            case "PUT" if name:
                return self._write.update
            case "PATCH" if name:
                return self._write.patch
            case "DELETE" if name and not info.subresource:
                return self._write.delete
        raise method_not_allowed(method)

    def _action(self, method: str, subresource: str) -> Handler:
        match method, subresource:
            case "GET", "log":
                return self._pods.log
            case "GET" | "POST", "exec":  # kubectl sends POST after a refused GET; its reader needs the reason
                return self._pods.exec
            case "GET", "portforward":
                return self._pods.forward
            case "POST", "binding":
                return self._pods.bind
        raise method_not_allowed(method)

    async def _token_request(self, request: web.BaseRequest, info: RequestInfo, _query: Query) -> web.StreamResponse:
        given = await _object(request)
        return json_reply(encode(self._account_tokens.issue(info.namespace, info.name, given)), 201)

    async def _review(self, request: web.BaseRequest, info: RequestInfo, _query: Query) -> web.StreamResponse:
        given = await _object(request)
        if info.resource.kind == "TokenReview":
            return json_reply(encode(self._account_tokens.review(given)), 201)
        return json_reply(encode(review(info.resource, given)), 201)


async def _object(request: web.BaseRequest) -> Json:
    body = bodies.decode(await bodies.read_body(request), request.content_type)
    return body if isinstance(body, dict) else {}


_USER: Json = {"username": "system:admin", "groups": ["system:masters", "system:authenticated"]}


def review(resource: Resource, asked: Json) -> Json:
    """Return the review with its status filled in."""
    answer: Json = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": asked.get("metadata") or {}}
    if resource.kind == "SelfSubjectReview":
        return answer | {"status": {"userInfo": _USER}}
    status = {"allowed": True, "reason": "the local cluster allows everything"}
    return answer | {"spec": asked.get("spec") or {}, "status": status}
