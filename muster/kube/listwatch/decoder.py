"""Decodes list pages and watch lines into flat records.

Building objects makes a Python client slow, not the network: a pod is 7 KB of JSON, and 17 fields of it matter. So
msgspec reads a line into a projection (a Struct with only those fields; the rest is skipped without being allocated), a
function makes a flat record of it, and the projection is dropped at once.

The type of an event is read from the first bytes of its line (the API server always writes ``{"type":"ADDED",...``),
because the object of a BOOKMARK or an ERROR does not fit the projection of a pod. Other lines take a slower path with
the same result.

Whole objects are plain dictionaries with their uid and resourceVersion (``unstructured``).
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from muster.api.errors import ApiError
from muster.api.values.printable import MESSAGE, clean
from muster.kube.transport import Status, error_from_status
from muster.kube.unstructured import Json, mapping, text


class Tracked(Protocol):
    """The fields of an object that a reflector needs."""

    @property
    def uid(self) -> str:
        """metadata.uid."""

    @property
    def resource_version(self) -> int:
        """metadata.resourceVersion, as a number."""


T = TypeVar("T", bound=Tracked)


class EventType(StrEnum):
    """metav1.WatchEvent.type, and MALFORMED for lines that are no event."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"
    MALFORMED = "MALFORMED"


class Event(msgspec.Struct, Generic[T], frozen=True):
    """One line of a watch.

    It is tracked by the garbage collector, unlike the records it carries: a raised error refers to its frame, and the
    frame to the event.

    ``obj`` is set for ADDED, MODIFIED and DELETED unless ``problem`` has the reason why it could not be read;
    ``version`` is known in both cases if the line had one, else 0. ``complete`` marks the bookmark that ends the
    initial events of a streamed list. ``error`` is set for ERROR.
    """

    type: EventType
    version: int = 0
    obj: T | None = None
    complete: bool = False
    error: ApiError | None = None
    problem: str = ""


class ObjectList(msgspec.Struct, Generic[T]):
    """Objects as of ``version``, by uid: one page of a list, or all of it. ``problems`` are unreadable items.

    ``proceed`` is the token of the next page, empty on the last.
    """

    objects: dict[str, T]
    version: int
    problems: list[str]
    proceed: str = ""


D = TypeVar("D")

INITIAL_EVENTS_END = "k8s.io/initial-events-end"

UNREADABLE = (ValueError, RecursionError, OverflowError)
"""Errors of decoding invalid bytes (msgspec's errors and UnicodeDecodeError are ValueErrors)."""

_HEAD = b'{"type":"'
_BY_NAME = {member.value.encode(): member for member in EventType if member is not EventType.MALFORMED}
_OBJECTS = frozenset((EventType.ADDED, EventType.MODIFIED, EventType.DELETED))


class Frame(msgspec.Struct, Generic[D], gc=False):
    """A watch event whose type is known already."""

    object: D


class _Bare(msgspec.Struct, gc=False):
    type: str
    object: msgspec.Raw


class _Annotations(msgspec.Struct, gc=False):
    complete: str | None = msgspec.field(name=INITIAL_EVENTS_END, default=None)


class _Meta(msgspec.Struct, gc=False):
    resourceVersion: str | None = None  # noqa: N815 - the wire's names
    annotations: _Annotations | None = None
    namespace: str = ""
    name: str = ""

    def named(self, problem: str) -> str:
        """Return the problem of the object, with its name if that can be read."""
        return f"{clean(f'{self.namespace}/{self.name}', LONGEST_NAME)}: {problem}" if self.name else problem


class _Identity(msgspec.Struct, gc=False):
    metadata: _Meta


class _ListMeta(msgspec.Struct, gc=False):
    resourceVersion: str | None = None  # noqa: N815
    proceed: str | None = msgspec.field(name="continue", default=None)


class _Listing(msgspec.Struct, Generic[D], gc=False):
    metadata: _ListMeta
    items: list[D] | None = None


_BARE = msgspec.json.Decoder(_Bare)
_BOOKMARK = msgspec.json.Decoder(Frame[_Identity])
_ERROR = msgspec.json.Decoder(Frame[Status])
_IDENTITY = msgspec.json.Decoder(_Identity)
LONGEST_NAME = 317
"""Most characters of a namespace, a slash and a name (RFC 1123)."""
_RAW_LISTING = msgspec.json.Decoder(_Listing[msgspec.Raw])


def version_of(text: str | None) -> int:
    """Return a resourceVersion as a number (comparable since Kubernetes 1.35, KEP-5504). Raises ValueError."""
    if text and len(text) <= 20 and text.isascii() and text.isdigit():
        return int(text)
    raise ValueError(f"resourceVersion {clean(text, 40)!r} is not a number")


def _repaired(body: bytes) -> bytes:
    """Return the same JSON with '?' for invalid characters: escaped lone surrogates, bytes that are not UTF-8."""
    whole = json.loads(body.decode("utf-8", "replace"))
    return json.dumps(whole, ensure_ascii=False).encode("utf-8", "replace")


class Projection(Generic[D, T]):
    """The decoder of one kind: ``document`` names the fields to read, ``flatten`` makes the record.

    ``flatten`` may raise ValueError for an object that cannot be used at all (no uid, no resourceVersion).
    """

    def __init__(self, kind: str, document: type[D], flatten: Callable[[D], T]) -> None:
        self.kind = kind
        self._flatten = flatten
        self._frame: Callable[[bytes], Frame[D]] = msgspec.json.Decoder(Frame[document]).decode  # type: ignore[valid-type]
        self._listing: Callable[[bytes], _Listing[D]] = msgspec.json.Decoder(_Listing[document]).decode  # type: ignore[valid-type]
        self._item: Callable[[msgspec.Raw], D] = msgspec.json.Decoder(document).decode

    def event(self, line: bytes) -> Event[T]:
        """Return the event in one line of a watch. Never raises."""
        if line.startswith(_HEAD):
            kind = _BY_NAME.get(line[9 : line.find(b'"', 9, 24)])
        else:
            try:
                bare = _BARE.decode(line)
            except UNREADABLE as error:
                return Event(EventType.MALFORMED, problem=clean(str(error), MESSAGE))
            kind = _BY_NAME.get(bare.type.encode())
        if kind is None:
            return Event(EventType.MALFORMED, problem="an event of unknown type")
        try:
            if kind in _OBJECTS:
                obj = self._flatten(self._frame(line).object)
                return Event(kind, obj.resource_version, obj)
            if kind is EventType.BOOKMARK:
                meta = _BOOKMARK.decode(line).object.metadata
                complete = meta.annotations is not None and meta.annotations.complete == "true"
                return Event(kind, version_of(meta.resourceVersion), complete=complete)
            return Event(kind, error=error_from_status(_ERROR.decode(line).object))
        except Exception as error:  # noqa: BLE001 - no object may end the stream of all
            return self._unreadable(line, kind, error)

    def page(self, body: bytes) -> ObjectList[T]:
        """Return one page of a list; unreadable items are left out and listed in ``problems``."""
        problems: list[str] = []
        objects: dict[str, T] = {}
        try:
            listing = self._listing(body)
            metadata = listing.metadata
            for document in listing.items or ():
                self._add(objects, problems, document)
        except UNREADABLE:
            raws, metadata = self._raw_items(body)
            objects.clear()
            problems.clear()
            for raw in raws:
                try:
                    document = self._item(raw)
                except UNREADABLE as error:
                    problem = clean(str(error), MESSAGE)
                    with suppress(*UNREADABLE):
                        problem = _IDENTITY.decode(raw).metadata.named(problem)
                    problems.append(problem)
                else:
                    self._add(objects, problems, document)
        try:
            version = version_of(metadata.resourceVersion)
        except ValueError as error:
            raise ApiError(f"the list of {self.kind} cannot be used: {error}", reason="Malformed") from error
        return ObjectList(objects, version, problems, metadata.proceed or "")

    def _add(self, objects: dict[str, T], problems: list[str], document: D) -> None:
        try:
            obj = self._flatten(document)
            objects[obj.uid] = obj
        except Exception as error:  # noqa: BLE001 - no object may make the list unreadable
            problems.append(_problem(error))

    def _raw_items(self, body: bytes) -> tuple[list[msgspec.Raw], _ListMeta]:
        """Return the items, each by itself: invalid text in one does not make the others unreadable."""
        try:
            try:
                listing = _RAW_LISTING.decode(body)
            except UNREADABLE:
                listing = _RAW_LISTING.decode(_repaired(body))
        except UNREADABLE as error:
            raise ApiError(f"the list of {self.kind} cannot be read: {error}", reason="Malformed") from error
        return listing.items or [], listing.metadata

    def _unreadable(self, line: bytes, kind: EventType, error: Exception) -> Event[T]:
        """Return the event of an unreadable object, with its resourceVersion if at least that can be read."""
        version, problem = 0, _problem(error)
        with suppress(*UNREADABLE):
            metadata = _BOOKMARK.decode(line).object.metadata
            problem = metadata.named(problem)
            version = version_of(metadata.resourceVersion)
        if kind is EventType.ERROR:
            return Event(
                kind, error=ApiError("the watch failed for an unreadable reason", reason="Malformed"), problem=problem
            )
        return Event(kind, version, problem=problem)


def _problem(error: Exception) -> str:
    """Return the problem of an object; the class of an error that is not about its bytes, which is a bug."""
    text = clean(str(error), MESSAGE)
    return text if text and isinstance(error, UNREADABLE) else f"{type(error).__name__}: {text}"


class Unstructured(Json):
    """An object as the API server sent it."""

    __slots__ = ("resource_version", "uid")

    def __init__(self, document: Mapping[str, Any]) -> None:
        """Read uid and resourceVersion. Raises ValueError for an object without them."""
        super().__init__(document)
        metadata = mapping(document.get("metadata"))
        self.uid = text(metadata, "uid")
        self.resource_version = version_of(text(metadata, "resourceVersion"))
        if not self.uid:
            raise ValueError("an object without a uid")


def unstructured(kind: str) -> Projection[Json, Unstructured]:
    """Return the decoder of a list or a watch of whole objects; ``kind`` is for messages."""
    return Projection(kind, Json, Unstructured)
