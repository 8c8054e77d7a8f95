"""Feeds a sink from lists and a watch, so that it never goes back to an older state of an object.

One stream is read at a time, so an older watch cannot follow a newer list. States that are older than the last list, or
than their object's deletion, are dropped. A change that arrives after its object's deletion would put the object into
the cache again forever, and a barrier that waits for its end would never open.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from muster.api.errors import ApiError, Expired, Unreachable
from muster.kube.listwatch.decoder import Event, EventType, ObjectList, Projection, Tracked
from muster.kube.listwatch.store import Store
from muster.kube.transport import TOO_LARGE_ANSWER, Transport

T = TypeVar("T", bound=Tracked)

PAGE_BYTES = 16 * 2**20
"""The size of a page above which the next ones are smaller: one tenant may fill its objects to 1.5 MB each."""

SHRINK = 10
"""The factor by which pages are made smaller after an answer that was too large to be read."""

MOST_PAGES = 20_000
"""Most pages of a list: 10 million objects at 500 a page."""


async def list_all(
    transport: Transport,
    path: str,
    params: Mapping[str, str],
    decode: Projection[Any, T],
    *,
    page_size: int,
    timeout: float | None = None,
    on_page: Callable[[], None] = lambda: None,
) -> ObjectList[T]:
    """Return everything at ``path``, read page by page.

    Each page may take ``timeout`` seconds (None: the transport's default); ``on_page`` is called after each.

    No resourceVersion is sent: the API server then answers with a quorum read and not from a cache that may be minutes
    old (with ``resourceVersion=0`` a daemon that starts could see pods as they were before its own last writes). After
    a continue token expired (410) the list starts again, the second time without pages. After an answer that was too
    large to be read it starts again with smaller pages.
    """

    async def pages(limit: int) -> ObjectList[T]:
        query = dict(params)
        found: ObjectList[T] = ObjectList({}, 0, [])
        for _ in range(MOST_PAGES):
            if limit:
                query["limit"] = str(limit)
            answer = await transport.request("GET", path, params=query, timeout=timeout)
            on_page()
            page = decode.page(answer.body)
            found.objects |= page.objects
            found.problems += page.problems
            found.version = page.version
            if not page.proceed:
                return found
            if limit and len(answer.body) > PAGE_BYTES:
                limit = max(1, limit * PAGE_BYTES // len(answer.body))
            query["continue"] = page.proceed
        raise ApiError(f"the list of {decode.kind} has no end", reason="Malformed", request=f"GET {path}")

    limit, expired = page_size, 0
    while True:
        try:
            return await pages(limit)
        except Expired:
            expired += 1
            if limit == 0:
                raise
            limit = limit if expired == 1 else 0
        except Unreachable as error:
            if error.reason != TOO_LARGE_ANSWER or limit <= 1:
                raise
            limit = max(1, limit // SHRINK)


_DELETED = EventType.DELETED
"""Compared with every event; a module's name is found ten times as fast as an enum's member."""


class SinkFeed(Generic[T]):
    """The feed of a sink. ``synced``: it holds a full list. ``version``: the last resourceVersion that was seen.

    ``relists``: number of full lists after the first.
    """

    def __init__(self, sink: Store[T]) -> None:
        self.synced = False
        self.version = 0
        self.relists = 0
        self._sink = sink
        self._tombstones = Tombstones()

    def replace(self, objects: Mapping[str, T], version: int) -> None:
        """Apply a full list: an object that it lacks is gone."""
        self._tombstones.clear(version)
        self.version = version
        self.relists += self.synced
        self._sink.replace(objects, version)
        self.synced = True
        self._sink.reached(version)

    def apply(self, event: Event[T]) -> None:
        """Apply an event of the watch."""
        self.version = max(self.version, event.version)
        obj = event.obj
        if obj is None:
            self._sink.reached(self.version)
        elif event.type is _DELETED:
            self._tombstones.add(obj.uid, event.version)
            self._sink.drop(obj.uid, obj, self.version)
        elif not self._tombstones.late(obj.uid, event.version):
            self._sink.put(obj, self.version)

    def skip(self, version: int) -> None:
        """Skip an event of that version that could not be read."""
        if version > self.version:
            self.version = version
            self._sink.reached(version)

    def learn(self, seen: ObjectList[T], among: Iterable[T], awaited: Callable[[T], bool] = lambda _: False) -> bool:
        """Apply a consistent list that was read beside the watch, as far as it is newer than the watch's state.

        ``among`` are those objects of the sink that would be in the list if they still existed. An ``awaited`` one is
        left to the watch, which delivers its last state. Return True if there was none.
        """
        for obj in seen.objects.values():
            if not self._tombstones.late(obj.uid, obj.resource_version):
                self._sink.put(obj, self.version)
        if seen.problems:
            return True  # an unreadable object still exists
        complete = True
        for obj in among:
            if obj.uid in seen.objects or obj.resource_version > seen.version:
                continue
            if awaited(obj):
                complete = False
            else:
                self._tombstones.add(obj.uid, seen.version)
                self._sink.drop(obj.uid, obj, self.version)
        return complete


def collect(event: Event[T], initial: dict[str, T]) -> bool:
    """Collect a streamed list. Return True once it is complete. Changes meanwhile are in the same stream."""
    if event.type is EventType.BOOKMARK:
        return event.complete
    obj = event.obj
    assert obj is not None
    if event.type is _DELETED:
        initial.pop(obj.uid, None)
    else:
        initial[obj.uid] = obj
    return False


@dataclass(slots=True)
class Tombstones:
    """The uids of deleted objects with the resourceVersion of their deletion, at most ``most`` of them.

    One that is dropped raises ``floor``, up to which every event counts as late (a watch delivers in order of
    resourceVersion, so hardly any is).
    """

    most: int = 4096
    floor: int = 0
    _deleted: dict[str, int] = field(default_factory=dict, init=False)

    def __len__(self) -> int:
        return len(self._deleted)

    def add(self, uid: str, version: int) -> None:
        """Note that the object was deleted at ``version``."""
        self._deleted.pop(uid, None)
        self._deleted[uid] = version
        if len(self._deleted) > self.most:
            oldest = next(iter(self._deleted))
            self.floor = max(self.floor, self._deleted.pop(oldest))

    def late(self, uid: str, version: int) -> bool:
        """Return True if a state of ``version`` is older than the known one: listed before, or deleted since."""
        if version <= self.floor or version <= self._deleted.get(uid, 0):
            return True
        self._deleted.pop(uid, None)  # it left the selector and came back: the same uid, but newer
        return False

    def clear(self, floor: int) -> None:
        """Drop all after a full list at ``floor``: everything up to there is in the list or deleted."""
        self._deleted.clear()
        self.floor = floor
