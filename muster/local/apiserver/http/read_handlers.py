"""Handlers of get, list and watch."""

import asyncio

from aiohttp import web

from muster.local.apiserver.errors import ApiError, bad_request, expired
from muster.local.apiserver.http.request_info import Query, RequestInfo, continue_token, read_continue, too_large
from muster.local.apiserver.http.responses import json_reply, list_of
from muster.local.apiserver.http.watch import Watch, WatchRequest
from muster.local.apiserver.objects.object_store import ObjectStore
from muster.local.apiserver.storage.selectors import Selector, parse_fields, parse_labels
from muster.local.apiserver.storage.stored_objects import SELECTABLE, Json

_WATCH_SECONDS = 1800.0
_WRITE_SECONDS = 30.0
_MATCHES = ("", "Exact", "NotOlderThan")


class ReadHandlers:
    """Handlers of read requests. `bookmark_every` is in seconds; `closing` is set when the server stops."""

    def __init__(self, store: ObjectStore, closing: asyncio.Event, bookmark_every: float) -> None:
        self._store = store
        self._closing = closing
        self._bookmark_every = bookmark_every

    def selector(self, info: RequestInfo, query: Query) -> Selector:
        """The selector of a list or watch."""
        selectable = SELECTABLE.get(info.resource.group_resource, ())
        fields = parse_fields(query.text("fieldSelector"), selectable)
        if info.name:
            fields = (*fields, *parse_fields(f"metadata.name={info.name}", ()))
        return Selector(info.namespace, parse_labels(query.text("labelSelector")), fields)

    async def get(self, _request: web.BaseRequest, info: RequestInfo, query: Query) -> web.StreamResponse:
        """Get one object."""
        self._asked_version(query)
        stored = self._store.get(info.resource, info.namespace, info.name)
        return json_reply(stored.data)

    async def list(self, _request: web.BaseRequest, info: RequestInfo, query: Query) -> web.StreamResponse:
        """List objects, or one page of them.

        Later pages hold the current objects but the resourceVersion of the first page; a watch from that version
        repeats the changes in between.
        """
        selector = self.selector(info, query)
        limit = query.number("limit") or 0
        token = query.text("continue")
        history = self._store.versions.history(info.resource.group_resource)
        version = self._store.versions.version
        asked = self._asked_version(query)
        found = self._store.list(info.resource, info.namespace, selector)
        if token:
            version, namespace, name = read_continue(token)
            if asked:
                raise bad_request("specifying resource version is not allowed when using continue")
            if version < history.compacted:
                message = "The provided continue parameter is too old to display a consistent list result; list again"
                raise ApiError(410, "Expired", message)
            found = [s for s in found if (s.namespace, s.name) > (namespace, name)]
        elif asked and query.text("resourceVersionMatch") == "Exact":
            if history.position(asked) != history.end:
                raise expired(asked, version)
            version = asked
        metadata: Json = {"resourceVersion": str(version)}
        if limit and len(found) > limit:
            last = found[limit - 1]
            metadata["continue"] = continue_token(version, last.namespace, last.name)
            if not selector.labels and not selector.fields:
                metadata["remainingItemCount"] = len(found) - limit
            found = found[:limit]
        return json_reply(list_of(info.resource, found, metadata))

    async def watch(self, request: web.BaseRequest, info: RequestInfo, query: Query) -> web.StreamResponse:
        """Stream changes. A client that reads nothing for 30 s is disconnected."""
        timeout = query.number("timeoutSeconds")
        version = self._watch_version(query)
        initial = query.flag("sendInitialEvents")
        bookmarks = query.flag("allowWatchBookmarks")
        match = query.text("resourceVersionMatch")
        if initial and (match != "NotOlderThan" or not bookmarks):
            raise bad_request(
                "sendInitialEvents needs resourceVersionMatch=NotOlderThan and allowWatchBookmarks=true beside it"
            )
        if match and "sendInitialEvents" not in query.values:
            raise bad_request(
                "resourceVersionMatch: Forbidden: it is forbidden for watch unless sendInitialEvents is set"
            )
        watch = Watch(
            WatchRequest(
                resource=info.resource,
                selector=self.selector(info, query),
                version=version,
                bookmarks=bookmarks,
                initial_events=initial,
                timeout=float(timeout) if timeout else _WATCH_SECONDS,
            ),
            self._store.versions,
            self._closing,
            self._bookmark_every,
        )
        response = web.StreamResponse(
            headers={"Content-Type": "application/json", "Cache-Control": "no-cache, private"}
        )
        response.enable_chunked_encoding()
        await response.prepare(request)

        async def write(data: bytes) -> None:
            try:
                async with asyncio.timeout(_WRITE_SECONDS):
                    await response.write(data)
            except TimeoutError as failure:
                raise ConnectionResetError("the client of a watch does not read") from failure

        try:
            await watch.run(write)
            await response.write_eof()
        except ConnectionError:
            if request.transport is not None:
                request.transport.abort()
        return response

    def _asked_version(self, query: Query) -> int:
        version = query.number("resourceVersion") or 0
        match = query.text("resourceVersionMatch")
        if match not in _MATCHES:
            raise bad_request(f'resourceVersionMatch: Unsupported value: "{match}"')
        if match and not query.text("resourceVersion"):
            raise bad_request(
                "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
            )
        current = self._store.versions.version
        if version > current:
            raise too_large(version, current)
        return version

    def _watch_version(self, query: Query) -> int | None:
        return query.number("resourceVersion") or None
