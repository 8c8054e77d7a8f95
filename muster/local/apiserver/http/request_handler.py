"""Handles every request: authentication, discovery, reviews and health, and dispatch to the handler of the verb."""

import hmac
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import structlog
from aiohttp import web

from muster.local.apiserver.errors import ApiError, method_not_allowed, unknown_path
from muster.local.apiserver.http import bodies
from muster.local.apiserver.http.bodies import Query, RequestInfo, failure_reply, json_reply, parse, segments
from muster.local.apiserver.http.handlers import ObjectHandlers
from muster.local.apiserver.http.pod_subresources import PodSubresources
from muster.local.apiserver.kinds.resources import Registry, Resource
from muster.local.apiserver.objects.account_tokens import AccountTokens
from muster.local.apiserver.storage.stored_objects import encode

Json = dict[str, Any]
VERSION: Json = {
    "major": "1",
    "minor": "34",
    "gitVersion": "v1.34.0+muster",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "cpython",
    "platform": "linux/amd64",
}


def groups(registry: Registry) -> Json:
    """Return the APIGroupList of /apis."""
    listed: list[Json] = []
    for group, version in dict.fromkeys((each.group, each.version) for each in registry.all() if each.group):
        served = {"groupVersion": f"{group}/{version}", "version": version}
        kind = {"kind": "APIGroup", "apiVersion": "v1", "name": group}
        listed.append(kind | {"versions": [served], "preferredVersion": served})
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}


def _served(registry: Registry, group: str, version: str) -> list[Resource]:
    found = [each for each in registry.all() if (each.group, each.version) == (group, version)]
    if not found:
        raise unknown_path()
    return found


def resources(registry: Registry, group: str, version: str) -> Json:
    """Return the APIResourceList of one group and version. Subresources are served, and not listed."""
    listed: list[Json] = []
    for resource in _served(registry, group, version):
        row: Json = {
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": list(resource.verbs),
        }
        names = {"shortNames": list(resource.short_names), "categories": list(resource.categories)}
        listed.append(row | {key: value for key, value in names.items() if value})
    name = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": listed}


def openapi_document(registry: Registry, group: str, version: str) -> Json:
    """Return the OpenAPI v3 document of one group and version, without schemas.

    It names the patch operation of each resource with its parameter `fieldValidation`. From that kubectl reads that the
    server checks fields itself, before it writes an object.
    """
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    paths: Json = {}
    for resource in _served(registry, group, version):
        spaced = "/namespaces/{namespace}" if resource.namespaced else ""
        kind = {"group": group, "version": version, "kind": resource.kind}
        checked = {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}
        operation = {"x-kubernetes-group-version-kind": kind, "parameters": [checked], "responses": {}}
        paths[f"{root}{spaced}/{resource.plural}/{{name}}"] = {"patch": operation}
    return {"openapi": "3.0.0", "info": {"title": "Muster local cluster", "version": "v1.34.0"}, "paths": paths}


def openapi_index(registry: Registry) -> Json:
    """Return the index of /openapi/v3. Clients keep no document whose address has no hash."""
    versions = {(each.group, each.version) for each in registry.all()}
    names = sorted(f"apis/{group}/{version}" if group else f"api/{version}" for group, version in versions)
    return {"paths": {name: {"serverRelativeURL": f"/openapi/v3/{name}"} for name in names}}


Handler = Callable[[web.BaseRequest, RequestInfo, Query], Awaitable[web.StreamResponse]]
_FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError)
_HEALTH = frozenset(("healthz", "livez", "readyz"))
_FROM_BROWSERS = frozenset(("origin", "sec-fetch-site", "sec-fetch-mode"))
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, eq=False, repr=False)  # no text shows its token
class RequestHandler:
    """The entry point of all requests. If `token` is None, requests need no token."""

    registry: Registry
    objects: ObjectHandlers
    pods: PodSubresources
    account_tokens: AccountTokens
    token: str | None

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request. Every refusal is a Status. A ``ConnectionError`` closes the connection."""
        try:
            return await self._route(request)
        except ApiError as failure:
            return failure_reply(failure)
        except ConnectionError:  # the client is gone, or its answer is cut off: aiohttp would log it as an error
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
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
        info = parse(parts, self.registry)
        query = Query(request.query)
        return await self._verb(request, info, query)(request, info, query)

    def _authenticate(self, request: web.BaseRequest) -> None:
        if self.token is None:
            return
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        right = hmac.compare_digest(given.strip().encode("utf-8", "replace"), self.token.encode())
        if scheme.lower() != "bearer" or not right:
            raise ApiError(401, "Unauthorized", "Unauthorized")

    def _static(self, parts: list[str]) -> web.Response | None:
        found: Json
        match parts:
            case ["version"]:
                found = VERSION
            case ["api"]:
                found = {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
            case ["apis"]:
                found = groups(self.registry)
            case ["api", version]:
                found = resources(self.registry, "", version)
            case ["apis", group, version]:
                found = resources(self.registry, group, version)
            case ["openapi", "v3"]:
                found = openapi_index(self.registry)
            case ["openapi", "v3", "api", version]:
                found = openapi_document(self.registry, "", version)
            case ["openapi", "v3", "apis", group, version]:
                found = openapi_document(self.registry, group, version)
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
                return self.objects.watch
            case "GET":
                return self.objects.get if name else self.objects.list
            case "POST" if not name:
                return self.objects.create
            case "PUT" if name:
                return self.objects.update
            case "PATCH" if name:
                return self.objects.patch
            case "DELETE" if name and not info.subresource:
                return self.objects.delete
        raise method_not_allowed(method)

    def _action(self, method: str, subresource: str) -> Handler:
        match method, subresource:
            case "GET", "log":
                return self.pods.log
            case "GET" | "POST", "exec":  # kubectl sends POST after a refused GET; its reader needs the reason
                return self.pods.exec
            case "GET", "portforward":
                return self.pods.forward
            case "POST", "binding":
                return self.pods.bind
        raise method_not_allowed(method)

    async def _token_request(self, request: web.BaseRequest, info: RequestInfo, _query: Query) -> web.StreamResponse:
        given = await _object(request)
        return json_reply(encode(self.account_tokens.issue(info.namespace, info.name, given)), 201)

    async def _review(self, request: web.BaseRequest, info: RequestInfo, _query: Query) -> web.StreamResponse:
        given = await _object(request)
        if info.resource.kind == "TokenReview":
            return json_reply(encode(self.account_tokens.review(given)), 201)
        return json_reply(encode(review(info.resource, given)), 201)


async def _object(request: web.BaseRequest) -> Json:
    body = bodies.decode(await bodies.read_body(request), request.content_type)
    return body if isinstance(body, dict) else {}


_USER: Json = {"username": "system:admin", "groups": ["system:masters", "system:authenticated"]}


def review(resource: Resource, asked: Json) -> Json:
    """Return a SelfSubject*Review with its status: every user of the cluster is system:admin and may do everything."""
    answer: Json = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": asked.get("metadata") or {}}
    if resource.kind == "SelfSubjectReview":
        return answer | {"status": {"userInfo": _USER}}
    status = {"allowed": True, "reason": "the local cluster allows everything"}
    return answer | {"spec": asked.get("spec") or {}, "status": status}
