"""Keeps a sink in step with one kind of object on the API server: list, then watch, forever.

The list is streamed (``sendInitialEvents``, KEP-3157) if the server supports it, else read in pages. The stream
continues as the watch, which is resumed from the last resourceVersion whenever it ends. After a 410 (the server no
longer has that version) a new list replaces what the sink holds, so an object missing from it counts as deleted. So it
does after a resumed watch on which nothing came at all, not even a bookmark: after the restoration of an etcd backup a
server may not have reached that version yet, and sends nothing until it has.

Liveness: a read may be silent for one and a half times the 60 s in which an API server sends at least a bookmark. Every
failure waits for a growing delay; a stream that ends within a second is a failure too, so a server that closes at once,
or answers every watch with 410, is not called in a loop. Attempts without an answer have a delay of their own, of 5 s
at most, and an answer of any kind, an error included, ends it: the server is back. No single object can end the stream.

The events go to the sink through ``sink_feed``, in an order in which nothing becomes older.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Generic, NoReturn, Protocol, TypeVar

from muster.api.errors import ApiError, Expired, Invalid, Throttled, Unreachable
from muster.kube.instrumented import denied
from muster.kube.listwatch.decoder import Event, EventType, Projection, Tracked
from muster.kube.listwatch.sink_feed import SinkFeed, collect, list_all
from muster.kube.listwatch.store import Store
from muster.kube.transport import TOO_LARGE, Transport
from muster.kube.workqueue import Backoff

T = TypeVar("T", bound=Tracked)

FIRST_WAIT = 0.8
LAST_WAIT = 30.0
QUIET = 120.0
"""Seconds, as in client-go's reflector (tools/cache/reflector.go): the wait doubles from the first to the last, and
starts again after two quiet minutes."""
LONGEST_AWAY_WAIT = 5.0
"""Seconds between attempts on a server that gives no answer at all: they cost it nothing, and their wait is added to
the age of the caches."""

SILENT = "Silent"
_OWN_REASONS = ("Early", SILENT)
"""Failures that are counted by their reason; all others are counted by the class of the error."""

LONGEST_WAIT = 300.0
"""Most seconds of a Retry-After that a reflector obeys."""


class LogFunction(Protocol):
    """A function that logs a message; a structured logger's method fits."""

    def __call__(self, message: str, **fields: Any) -> object:
        """Log the message with these fields."""


@dataclass(frozen=True, slots=True)
class ReflectorSettings:
    """Times in seconds. The watch's length is random each time, so that daemons do not reconnect in step."""

    silence: float = 90.0
    """One and a half periods of an API server's bookmarks (60 s: apiserver, storage/cacher, defaultBookmarkFrequency).
    A loaded server sends them some seconds late, and each watch that is closed for that costs it a new one. A peer that
    has disappeared is noticed sooner, by TCP keepalive."""
    watch_shortest: float = 300.0
    watch_longest: float = 600.0
    early: float = 1.0
    """Seconds: a watch that ends sooner has failed."""
    page_size: int = 500
    page_timeout: float = 60.0
    streamed_list: bool = True


@dataclass(frozen=True, slots=True)
class Failing:
    """A failure: ``since`` when (by the reflector's clock), the last error's text, and whether rights were lacking."""

    since: float
    problem: str
    denied: bool


class Reflector(Generic[T]):
    """One kind's list and watch; its owner runs ``run`` as a named task.

    ``feed`` is the feed of the sink, and knows how far it has come. For metrics and health: ``staleness(now)``,
    ``reconnects`` by reason, ``events`` by type, ``decode_errors``.
    """

    def __init__(
        self,
        transport: Transport,
        path: str,
        params: Mapping[str, str],
        decode: Projection[Any, T],
        sink: Store[T],
        *,
        clock: Callable[[], float],
        random: Random,
        sleep: Callable[[float], Awaitable[object]],
        report: LogFunction,
        failed: Callable[[ApiError, float], None] = lambda _error, _seconds: None,
        settings: ReflectorSettings | None = None,
    ) -> None:
        """``clock`` is monotonic; ``report`` logs a failure once, and its end, and the first unreadable object.

        ``failed`` is called with each failure and the seconds until the next attempt; it may raise to end ``run``.
        """
        self.settings = settings or ReflectorSettings()
        self.kind = decode.kind
        self.feed = SinkFeed(sink)
        self.reconnects: Counter[str] = Counter()
        self.events: Counter[str] = Counter()
        self.decode_errors = 0
        self._transport = transport
        self._path = path
        self._params = dict(params)
        self._decode = decode
        self._clock = clock
        self._random = random
        self._sleep = sleep
        self._report = report
        self._failed = failed
        self._backoff = Backoff(FIRST_WAIT, LAST_WAIT, random, QUIET)
        self._away = Backoff(FIRST_WAIT, LONGEST_AWAY_WAIT, random)
        self._answered = True
        self._streamed = self.settings.streamed_list
        self._page_next = False
        self._must_list = True
        self._heard_at = clock()
        self.tried = asyncio.Event()
        """Set once a watch was opened, or an attempt has failed."""
        self.failing: Failing | None = None
        """Set while no watch is open and attempts to open one fail."""

    def staleness(self, now: float) -> float:
        """Return the seconds since the server last sent anything of this kind; ``now`` is of the reflector's clock."""
        return max(0.0, now - self._heard_at)

    def list_again(self) -> None:
        """Read a new list, because the sink may be wrong; an open watch ends with its next line or bookmark."""
        self._must_list = True

    async def run(self) -> NoReturn:
        """Follow the server until cancelled."""
        while True:
            began = self._clock()
            self._answered = False
            try:
                await self._follow()
                if self._clock() - began < self.settings.early and not self._must_list:
                    problem = "the server closes the watch at once"
                    raise Unreachable(problem, reason="Early", request=f"GET {self._path}")
            except ApiError as error:
                await self._recover(error)
            else:
                self.reconnects["ended"] += 1

    async def _follow(self) -> None:
        """Follow one watch, with a list before it if one is due. Returns when the server ends the watch."""
        streaming = self._must_list and self._streamed and not self._page_next
        if self._must_list and not streaming:
            await self._list()
        length = self._random.uniform(self.settings.watch_shortest, self.settings.watch_longest)
        params = self._params | {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(int(length))}
        if streaming:
            params |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        else:
            params["resourceVersion"] = str(self.feed.version)
        initial: dict[str, T] | None = {} if streaming else None
        heard = self._answered = False
        try:
            async with self._transport.lines(self._path, params=params, silence=self.settings.silence) as lines:
                self._note_answer()
                self.tried.set()
                if self.failing is not None:
                    self._report("the watch is open again", kind=self.kind)
                self.failing = None
                async for line in lines:
                    self._heard_at, heard = self._clock(), True
                    event = self._decode.event(line)
                    self.events[event.type] += 1
                    if event.error is not None:
                        raise event.error
                    if event.problem:
                        self._unreadable(event, line)
                    elif initial is None:
                        self.feed.apply(event)
                    elif collect(event, initial):
                        self._replace(initial, event.version)
                        initial = None
                    if self._must_list and initial is None:
                        return None
        except Invalid:
            if initial is None:
                self._must_list = True
                raise
            self._streamed = False
            self._report("the server does not stream lists; reading pages instead", kind=self.kind)
            return await self._follow()
        except ApiError as error:
            self._page_next = initial is not None
            if error.reason == SILENT and self._answered and not heard:
                self._must_list = True
            raise
        if initial is not None:
            self._page_next = True
            raise ApiError("the streamed list ended before it was complete", reason="Truncated", request=self._path)
        return None

    async def _list(self) -> None:
        snapshot = await list_all(
            self._transport,
            self._path,
            self._params,
            self._decode,
            page_size=self.settings.page_size,
            timeout=self.settings.page_timeout,
            on_page=self._note_page,
        )
        for problem in snapshot.problems:
            self._count_unreadable(problem)
        self._replace(snapshot.objects, snapshot.version)

    def _note_page(self) -> None:
        self._heard_at = self._clock()
        self._note_answer()

    def _note_answer(self) -> None:
        self._answered = True
        self._away.reset()

    def _replace(self, objects: Mapping[str, T], version: int) -> None:
        self._must_list = self._page_next = False
        self.feed.replace(objects, version)

    def _unreadable(self, event: Event[T], line: bytes) -> None:
        """Skip an object that cannot be read, but not a deletion: only a new list can replace that."""
        self._count_unreadable(event.problem, size=len(line))
        if event.type is EventType.DELETED:
            raise Expired("a deletion could not be read", reason="Malformed", request=self._path)
        if not self._must_list:
            self.feed.skip(event.version)

    def _count_unreadable(self, problem: str, **fields: Any) -> None:
        self.decode_errors += 1
        if self.decode_errors == 1:
            self._report("an object cannot be read and is skipped", kind=self.kind, problem=problem, **fields)

    async def _recover(self, error: ApiError) -> None:
        if isinstance(error, Expired) or error.reason == TOO_LARGE:
            self._must_list = True
        if error.status:
            self._note_answer()
        backoff = self._backoff if self._answered else self._away
        reason = error.reason.lower() if error.reason in _OWN_REASONS else type(error).__name__.lower()
        asked = error.retry_after if isinstance(error, Throttled) else None
        wait = max(backoff.delay(self._clock()), min(asked or 0.0, LONGEST_WAIT))
        before, problem = self.failing, str(error)
        self.failing = Failing(before.since if before else self._clock(), problem, denied(error))
        self.reconnects[reason] += 1
        self.tried.set()
        self._failed(error, wait)
        if before is None or before.problem != problem:
            self._report("a watch has to be opened again", kind=self.kind, reason=reason, problem=problem)
        await self._sleep(wait)
