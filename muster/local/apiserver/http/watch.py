"""Watch streams: initial events if requested, then every change, and bookmarks.

Semantics from the Kubernetes documentation ("API concepts", efficient detection of changes) and apiserver
pkg/storage/cacher. As there, a resourceVersion that is too old is answered with HTTP 200 and an ERROR event.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from muster.local.apiserver.errors import ApiError, expired
from muster.local.apiserver.kinds.resources import Resource
from muster.local.apiserver.storage.selectors import Selector
from muster.local.apiserver.storage.stored_objects import Change, StoredObject, encode
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
        """The event of a change for this selector: ADDED if the object starts to match, DELETED if it stops."""
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
