"""Live pages: a stream of server-sent events for each page that is open, with the parts of it that have changed.

A stream belongs to the request that opened it; there is no task of its own. It waits until something of its subject has
changed, checks the reader again, renders, and sends the parts that differ from what it sent last. What streams may cost
is bounded: their number, in all and for one peer and one reader; one rendering a second for each, and a pause that
grows with the processor time that a rendering took and with the number of streams, so that a page of 10,000 ranks is
rendered less often; the seconds within which a reader must receive an update; and memory: between two renderings a
stream keeps only an outline of its page.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from itertools import chain
from time import thread_time

import msgspec

from muster.daemon.web.page.document import version
from muster.daemon.web.page.html import Outline, Part, changes
from muster.daemon.web.readers import Refused
from muster.daemon.web.reviews import InUse

EVERYTHING = ""
"""The subject of a page that shows all experiments."""

PAUSE = 1.0
"""Seconds between two updates of one stream."""
SHARE = 0.05
"""The largest share of a processor for the renderings of one stream."""
TOGETHER = 0.25
"""The largest share of a processor for the renderings of all open streams together."""
HEARTBEAT = 15.0
"""Seconds after which a page is rendered again although nothing changed, and a comment is sent if it is the same."""
TAKE = 10.0
"""Seconds within which a reader must have received an update."""
RETRY = 3
"""Seconds after which a browser opens an ended stream again."""


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """Numbers of streams. They are smaller than those of connections, so that other requests have room."""

    streams: int = 64
    per_peer: int = 24
    """Most streams of one address. All readers behind a proxy share it."""
    per_reader: int = 8
    """Most streams of one user, if users are known."""


@dataclass(slots=True, eq=False)
class Follower:
    """One stream: ``woken`` is set when there may be something to send, ``over`` when it is to end."""

    woken: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def end(self) -> None:
        """End the stream, because its reader has left or the server stops."""
        self.over.set()
        self.woken.set()


class Changes:
    """The wake-ups for streams of one experiment, and of all. ``changed`` is cheap while no stream is open."""

    def __init__(self) -> None:
        self._followers: dict[str, set[Follower]] = {}
        self.closed = False

    def changed(self, uid: str) -> None:
        """Wake the streams that show that experiment."""
        if self._followers:
            for subject in (uid, EVERYTHING):
                for follower in self._followers.get(subject, ()):
                    follower.woken.set()

    def everything(self) -> None:
        """Wake all streams, because this daemon begins or stops to lead."""
        for follower in self._all():
            follower.woken.set()

    def close(self) -> None:
        """End all streams."""
        self.closed = True
        for follower in self._all():
            follower.end()

    def _all(self) -> Iterator[Follower]:
        return chain.from_iterable(self._followers.values())

    @contextmanager
    def following(self, uid: str) -> Iterator[Follower]:
        """Yield a follower that is woken when that experiment changes."""
        follower = Follower()
        if self.closed:
            follower.end()
        followers = self._followers.setdefault(uid, set())
        followers.add(follower)
        try:
            yield follower
        finally:
            followers.discard(follower)
            if not followers and self._followers.get(uid) is followers:
                del self._followers[uid]


class Ended(Exception):
    """The reader may not see the page any longer, or the page is gone; the text has the reason."""


@dataclass(slots=True)
class Streams:
    """The streams, counted and served. ``changes`` wakes a stream when there may be something to send."""

    changes: Changes
    limits: StreamLimits = field(default_factory=StreamLimits)
    pause: float = PAUSE
    heartbeat: float = HEARTBEAT
    take: float = TAKE
    _open: InUse = field(default_factory=InUse)

    @property
    def open(self) -> int:
        """The number of open streams."""
        return self._open["", ""]

    def admitted(self, peer: str, reader: str) -> AbstractContextManager[None]:
        """Count a stream while it is open. Raises ``Refused``."""
        most = {("", ""): 0 if self.changes.closed else self.limits.streams, ("peer", peer): self.limits.per_peer}
        if reader:
            most["reader", reader] = self.limits.per_reader
        full = Refused(503, "Too many pages are live at the same time; this one can be loaded again.")
        return self._open.taking(most, full)

    async def serve(
        self,
        uid: str,
        seen: str,
        render: Callable[[], Awaitable[Part]],
        send: Callable[[bytes], Awaitable[None]],
        left: Callable[[Callable[[], None]], None] = lambda _: None,
    ) -> None:
        """Send what changes until the reader leaves, or the streams are closed.

        ``seen`` is the version of the page that the reader has. ``render`` checks the reader and raises ``Ended``.
        ``send`` raises if the reader is gone; ``TimeoutError`` is raised if the reader does not receive the data in
        time. ``left`` gets the callback for the reader's leaving, which a stream that sends nothing would not notice.
        """
        shown: Outline | None = None
        await self._send(send, f"retry: {RETRY * 1000}\n\n".encode())
        with self.changes.following(uid) as follower:
            left(follower.end)
            while not follower.over.is_set():
                follower.woken.clear()
                began = thread_time()
                try:
                    page = await render()
                except Ended as ended:
                    await self._send(send, _event("refused", "", str(ended)))
                    return
                update, shown = _update(shown, page, seen), Outline.of(page)
                del page
                await self._send(send, update)
                del update
                spent = thread_time() - began
                await _within(max(self.pause, spent / SHARE, spent * self.open / TOGETHER), follower.over)
                await _within(self.heartbeat, follower.woken)

    async def _send(self, send: Callable[[bytes], Awaitable[None]], data: bytes) -> None:
        async with asyncio.timeout(self.take):
            await send(data)


async def _within(seconds: float, happened: asyncio.Event) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await happened.wait()


def _update(shown: Outline | None, page: Part, seen: str) -> bytes:
    """Return the parts that a reader of ``shown``, or of the version ``seen``, lacks."""
    now = version(page)
    unseen = [] if now == seen else [page]
    parts = unseen if shown is None else list(changes(shown, page))
    if not parts:
        return b": nothing has changed\n\n"
    return _event("parts", now, msgspec.json.encode([(part.id, str(part.html)) for part in parts]).decode())


def _event(name: str, number: str, data: str) -> bytes:
    lines = [f"event: {name}", *([f"id: {number}"] if number else []), *(f"data: {line}" for line in data.splitlines())]
    return ("\n".join(lines) + "\n\n").encode()
