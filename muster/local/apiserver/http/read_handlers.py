"""Handlers of get, list and watch.

A watch sends initial events if requested, then every change, and bookmarks. Semantics from the Kubernetes documentation
("API concepts", efficient detection of changes) and apiserver pkg/storage/cacher. As there, a resourceVersion that is
too old is answered with HTTP 200 and an ERROR event.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from muster.local.apiserver.errors import ApiError, bad_request, expired
from muster.local.apiserver.http.bodies import json_reply, list_of
from muster.local.apiserver.http.request_info import Query, RequestInfo, continue_token, read_continue, too_large
from muster.local.apiserver.kinds.resources import Resource
from muster.local.apiserver.objects.object_store import ObjectStore
from muster.local.apiserver.storage.selectors import Selector, parse_fields, parse_labels
from muster.local.apiserver.storage.stored_objects import SELECTABLE, Change, Json, StoredObject, encode
from muster.local.apiserver.storage.versioned_store import VersionedStore

Write = Callable[[bytes], Awaitable[None]]
_CHUNK = 64
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """The parameters of a watch. If `version` is None, it starts with the current objects. `timeout` is in seconds."""

    resource: Resource
    selector: Selector
    version: int | None
    bookmarks: bool
    initial_events: bool
    timeout: float


class Watch:
    """One open watch. When the server stops, it sets `closing` and wakes all watchers."""

    def __init__(
        self,
        request: WatchRequest,
        versions: VersionedStore,
        closing: asyncio.Event,
        bookmark_every: float,
    ) -> None:
        self._request = request
        self._versions = versions
        self._history = versions.history(request.resource.group_resource)
        self._closing = closing
        self._bookmark_every = bookmark_every
        self._wakeup = asyncio.Event()
        self._idle = False

    async def run(self, write: Write) -> None:
        """Write events until the timeout, or until the server or the client stops."""
        request = self._request
        try:
            snapshot: list[StoredObject] = []
            if request.version is None or request.initial_events:
                snapshot = self._versions.scan(request.resource.group_resource, request.selector.namespace)
                position = self._history.end
            else:
                if request.version > self._versions.version:
                    # The version is from another run of the server, or invented: the client has to list again.
                    raise expired(request.version, self._versions.version)
                position = self._history.position(request.version)
        except ApiError as failure:
            await write(self._line("ERROR", encode(failure.status())))
            return
        version = self._versions.version
        self._history.add_watcher(self._wakeup)
        try:
            async with asyncio.timeout(request.timeout):
                await self._begin(snapshot, version, write)
                await self._follow(position, write)
        except TimeoutError:
            # Only if it was idle: otherwise some changes up to this version may not have been written.
            if request.bookmarks and self._idle and not self._wakeup.is_set() and not self._closing.is_set():
                await write(self._bookmark(self._versions.version, {}))
        except ApiError as failure:
            await write(self._line("ERROR", encode(failure.status())))
        finally:
            self._history.remove_watcher(self._wakeup)

    async def _begin(self, snapshot: list[StoredObject], version: int, write: Write) -> None:
        request = self._request
        lines: list[bytes] = []
        for stored in snapshot:
            if request.selector.selects(stored):
                lines.append(self._event("ADDED", stored))
                if len(lines) == _CHUNK:
                    await write(b"".join(lines))
                    lines.clear()
        if request.initial_events:
            lines.append(self._bookmark(version, {INITIAL_EVENTS_END: "true"}))
        if lines:
            await write(b"".join(lines))

    async def _follow(self, position: int, write: Write) -> None:
        """Write changes as they come, and a bookmark when nothing was written for `bookmark_every` seconds.

        Changes that the selector filters out do not count as written, so a watch of a quiet namespace in a busy
        cluster gets bookmarks too.
        """
        loop = asyncio.get_running_loop()
        due = loop.time() + self._bookmark_every
        while not self._closing.is_set():
            self._wakeup.clear()
            version, changes = self._versions.version, self._history.read(position)
            position += len(changes)
            data = b"".join(line for line in map(self._change, changes) if line)
            if self._request.bookmarks and not data and loop.time() >= due:
                data = self._bookmark(version, {})  # everything up to that version is read: no await came between
            if data:
                await write(data)
                due = loop.time() + self._bookmark_every
            if changes:
                continue
            self._idle = True
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(due if self._request.bookmarks else None):
                    await self._wakeup.wait()
            self._idle = False

    def _change(self, change: Change) -> bytes:
        """Return the event of a change for this selector: ADDED if the object starts to match, DELETED if it stops."""
        selector = self._request.selector
        now = selector.selects(change.current)
        before = change.previous is not None and selector.selects(change.previous)
        if change.kind == "DELETED":
            kind = "DELETED" if before else ""
        elif now:
            kind = "MODIFIED" if before else "ADDED"
        else:
            kind = "DELETED" if before else ""
        if not kind:
            return b""
        form = f"{kind} {self._request.resource.api_version}"
        line = change.lines.get(form)
        if line is None:
            line = change.lines[form] = self._event(kind, change.current)
        return line

    def _event(self, kind: str, stored: StoredObject) -> bytes:
        return self._line(kind, stored.data)

    def _bookmark(self, version: int, annotations: dict[str, str]) -> bytes:
        resource = self._request.resource
        metadata: dict[str, object] = {"resourceVersion": str(version), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = annotations
        mark = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        return self._line("BOOKMARK", encode(mark))

    @staticmethod
    def _line(kind: str, body: bytes) -> bytes:
        return b"".join((b'{"type":"', kind.encode(), b'","object":', body, b"}\n"))


_WATCH_SECONDS = 1800.0
_WRITE_SECONDS = 30.0


class ReadHandlers:
    """Handlers of read requests. `bookmark_every` is in seconds; `closing` is set when the server stops."""

    def __init__(self, store: ObjectStore, closing: asyncio.Event, bookmark_every: float) -> None:
        self._store = store
        self._closing = closing
        self._bookmark_every = bookmark_every

    def selector(self, info: RequestInfo, query: Query) -> Selector:
        """Return the selector of a list or watch."""
        selectable = SELECTABLE.get(info.resource.group_resource, ())
        fields = parse_fields(query.text("fieldSelector"), selectable)
        if info.name:
            fields = (*fields, *parse_fields(f"metadata.name={info.name}", ()))
        return Selector(info.namespace, parse_labels(query.text("labelSelector")), fields)

    async def get(self, _request: web.BaseRequest, info: RequestInfo, query: Query) -> web.StreamResponse:
        """Get one object."""
        self._refuse_later_version(query)
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
        self._refuse_later_version(query)
        found = self._store.list(info.resource, info.namespace, selector)
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
        timeout = query.number("timeoutSeconds")
        initial = query.flag("sendInitialEvents")
        bookmarks = query.flag("allowWatchBookmarks")
        if initial and (query.text("resourceVersionMatch") != "NotOlderThan" or not bookmarks):
            raise bad_request(
                "sendInitialEvents needs resourceVersionMatch=NotOlderThan and allowWatchBookmarks=true beside it"
            )
        watch = Watch(
            WatchRequest(
                resource=info.resource,
                selector=self.selector(info, query),
                version=query.number("resourceVersion") or None,
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

    def _refuse_later_version(self, query: Query) -> None:
        """Refuse a later version than the present one, which is what a read gets."""
        version, current = query.number("resourceVersion") or 0, self._store.versions.version
        if version > current:
            raise too_large(version, current)
