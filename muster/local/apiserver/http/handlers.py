"""Handlers of get, list and watch, and of create, update, patch and delete.

A watch sends initial events if requested, then every change, and bookmarks. Semantics from the Kubernetes documentation
("API concepts", efficient detection of changes) and apiserver pkg/storage/cacher. As there, a resourceVersion that is
too old is answered with HTTP 200 and an ERROR event.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from aiohttp import web

from muster.local.apiserver.errors import ApiError, bad_request, expired, method_not_allowed, unsupported_media
from muster.local.apiserver.http import bodies
from muster.local.apiserver.http.bodies import Query, RequestInfo, continue_token, json_reply, list_of, read_continue
from muster.local.apiserver.kinds.resources import Resource
from muster.local.apiserver.objects.object_store import ObjectStore
from muster.local.apiserver.objects.write_preparation import WriteOptions, is_merge_patch, merge_patch
from muster.local.apiserver.storage.stored_objects import (
    Change,
    Json,
    Selector,
    StoredObject,
    encode,
    parse_fields,
    parse_labels,
    selectable,
)
from muster.local.apiserver.storage.versioned_store import VersionedStore, WatchHistory

Write = Callable[[bytes], Awaitable[None]]
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


@dataclass(slots=True)
class Watch:
    """One open watch. If `version` is None, it starts with the current objects. `timeout` is in seconds.

    When the server stops, it sets `closing` and wakes all watchers.
    """

    resource: Resource
    selector: Selector
    version: int | None
    bookmarks: bool
    initial_events: bool
    timeout: float
    versions: VersionedStore
    closing: asyncio.Event
    bookmark_every: float
    wakeup: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def history(self) -> WatchHistory:
        """Return the changes of the resource."""
        return self.versions.history(self.resource.group_resource)

    async def run(self, write: Write) -> None:
        """Write events until the timeout, or until the server or the client stops."""
        snapshot: list[StoredObject] = []
        try:
            if self.version is None or self.initial_events:
                snapshot = self.versions.scan(self.resource.group_resource, self.selector.namespace)
                position = self.history.end
            elif self.version > self.versions.version:
                newest = self.versions.version
                raise expired(f"resource version {self.version} is not of this server, whose newest is {newest}")
            else:
                position = self.history.position(self.version)
            lines = [self._line("ADDED", stored.data) for stored in snapshot if self.selector.selects(stored)]
            if self.initial_events:
                lines.append(self._bookmark({INITIAL_EVENTS_END: "true"}))
            self.history.watchers.add(self.wakeup)
            async with asyncio.timeout(self.timeout):
                if lines:
                    await write(b"".join(lines))
                await self._follow(position, write)
        except TimeoutError:
            pass
        except ApiError as failure:
            await write(self._line("ERROR", encode(failure.status())))
        finally:
            self.history.watchers.discard(self.wakeup)

    async def _follow(self, position: int, write: Write) -> None:
        """Write changes as they come, and a bookmark when nothing was written for `bookmark_every` seconds.

        Changes that the selector filters out do not count as written, so a watch of a quiet namespace in a busy
        cluster gets bookmarks too.
        """
        loop = asyncio.get_running_loop()
        due = loop.time() + self.bookmark_every
        while not self.closing.is_set():
            self.wakeup.clear()
            changes = self.history.read(position)
            position += len(changes)
            data = b"".join(map(self._change, changes))
            if self.bookmarks and not changes and loop.time() >= due:
                data = self._bookmark({})
            if data:
                await write(data)
                due = loop.time() + self.bookmark_every
            if not changes:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout_at(due if self.bookmarks else None):
                        await self.wakeup.wait()

    def _change(self, change: Change) -> bytes:
        """Return the event of a change for this selector: ADDED if the object starts to match, DELETED if it stops."""
        before = change.previous is not None and self.selector.selects(change.previous)
        after = change.kind != "DELETED" and self.selector.selects(change.current)
        if not before and not after:
            return b""
        kind = ("MODIFIED" if before else "ADDED") if after else "DELETED"
        return self._line(kind, change.current.data)

    def _bookmark(self, annotations: dict[str, str]) -> bytes:
        """Return the bookmark of the present version; everything up to it must have been read."""
        metadata: Json = {"resourceVersion": str(self.versions.version), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = annotations
        mark = {"kind": self.resource.kind, "apiVersion": self.resource.api_version, "metadata": metadata}
        return self._line("BOOKMARK", encode(mark))

    @staticmethod
    def _line(kind: str, body: bytes) -> bytes:
        return b"".join((b'{"type":"', kind.encode(), b'","object":', body, b"}\n"))


_WATCH_SECONDS = 1800.0
_WRITE_SECONDS = 30.0


_MERGE = "application/merge-patch+json"
_STRATEGIC = "application/strategic-merge-patch+json"


@dataclass(frozen=True, slots=True, eq=False)
class ObjectHandlers:
    """Handlers of requests for objects. `bookmark_every` is in seconds; `closing` is set when the server stops."""

    store: ObjectStore
    closing: asyncio.Event
    bookmark_every: float

    def selector(self, info: RequestInfo, query: Query) -> Selector:
        """Return the selector of a list or watch."""
        known = selectable(info.resource.group_resource)
        fields = parse_fields(query.text("fieldSelector"), known)
        if info.name:
            fields += parse_fields(f"metadata.name={info.name}", known)
        return Selector(info.namespace, parse_labels(query.text("labelSelector")), fields)

    async def get(self, _request: web.BaseRequest, info: RequestInfo, _query: Query) -> web.StreamResponse:
        """Get one object."""
        return json_reply(self.store.get(info.resource, info.namespace, info.name).data)

    async def list(self, _request: web.BaseRequest, info: RequestInfo, query: Query) -> web.StreamResponse:
        """List objects, or one page of them.

        Later pages hold the current objects but the resourceVersion of the first page; a watch from that version
        repeats the changes in between.
        """
        selector = self.selector(info, query)
        limit = query.number("limit") or 0
        token = query.text("continue")
        history = self.store.versions.history(info.resource.group_resource)
        version = self.store.versions.version
        found = self.store.list(info.resource, info.namespace, selector)
        if token:
            version, namespace, name = read_continue(token)
            if version < history.compacted:
                message = "The provided continue parameter is too old to display a consistent list result; list again"
                raise ApiError(410, "Expired", message)
            found = [s for s in found if (s.namespace, s.name) > (namespace, name)]
        metadata: Json = {"resourceVersion": str(version)}
        if limit and len(found) > limit:
            last = found[limit - 1]
            metadata["continue"] = continue_token(version, last.namespace, last.name)
            found = found[:limit]
        return json_reply(list_of(info.resource, found, metadata))

    async def watch(self, request: web.BaseRequest, info: RequestInfo, query: Query) -> web.StreamResponse:
        """Stream changes. A client that reads nothing for 30 s is disconnected."""
        initial = query.flag("sendInitialEvents")
        bookmarks = query.flag("allowWatchBookmarks")
        if initial and (query.text("resourceVersionMatch") != "NotOlderThan" or not bookmarks):
            raise bad_request(
                "sendInitialEvents needs resourceVersionMatch=NotOlderThan and allowWatchBookmarks=true beside it"
            )
        watch = Watch(
            resource=info.resource,
            selector=self.selector(info, query),
            version=query.number("resourceVersion") or None,
            bookmarks=bookmarks,
            initial_events=initial,
            timeout=query.number("timeoutSeconds") or _WATCH_SECONDS,
            versions=self.store.versions,
            closing=self.closing,
            bookmark_every=self.bookmark_every,
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

        await watch.run(write)
        await response.write_eof()
        return response

    async def create(self, request: web.BaseRequest, info: RequestInfo, query: Query) -> web.StreamResponse:
        """Create an object: POST to a collection."""
        if info.resource.namespaced and not info.namespace:
            raise method_not_allowed("POST")
        body = bodies.decode(await bodies.read_body(request), request.content_type)
        options = query.write()
        stored = self.store.create(info.resource, info.namespace, body, options)
        return self._reply(stored, options, 201)

    async def update(self, request: web.BaseRequest, info: RequestInfo, query: Query) -> web.StreamResponse:
        """Replace an object or its status: PUT."""
        body = bodies.decode(await bodies.read_body(request), request.content_type)
        options = query.write(info.subresource)
        stored = self.store.update(info.resource, info.namespace, info.name, body, options)
        return self._reply(stored, options)

    async def patch(self, request: web.BaseRequest, info: RequestInfo, query: Query) -> web.StreamResponse:
        """Patch an object or its status."""
        kind = request.content_type
        if kind not in (_MERGE, _STRATEGIC):
            raise unsupported_media(kind, [_MERGE])
        patch = bodies.decode_json(await bodies.read_body(request))
        if not isinstance(patch, dict):
            raise bad_request("the patch must be an object")
        if kind == _STRATEGIC and (info.resource.custom or not is_merge_patch(patch)):
            raise unsupported_media(kind, [_MERGE])
        options = query.write(info.subresource)
        stored = self.store.patch(
            info.resource, info.namespace, info.name, lambda obj: merge_patch(obj, patch), options
        )
        return self._reply(stored, options)

    async def delete(self, request: web.BaseRequest, info: RequestInfo, query: Query) -> web.StreamResponse:
        """Delete an object. The response is its last state."""
        raw = await bodies.read_body(request)
        options = query.delete(bodies.decode(raw, request.content_type) if raw else None)
        return json_reply(self.store.delete(info.resource, info.namespace, info.name, options).data)

    def _reply(self, stored: StoredObject, options: WriteOptions, status: int = 200) -> web.StreamResponse:
        return json_reply(stored.data, status, options.warnings)
