"""The decoded content of a watch line or of a page of a list, and the sink of a reflector's objects."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

import msgspec

from muster.api.errors import ApiError

T_contra = TypeVar("T_contra", contravariant=True)


class Tracked(Protocol):
    """The fields of an object that a reflector needs."""

    @property
    def uid(self) -> str:
        """metadata.uid."""
        ...

    @property
    def resource_version(self) -> int:
        """metadata.resourceVersion, as a number."""
        ...


class Sink(Protocol[T_contra]):
    """The receiver of one kind's objects.

    It is called on the event loop, in order; a call must neither block nor raise.

    ``version`` is always the newest resourceVersion known to be contained in what was received so far.
    """

    def replace(self, objects: Mapping[str, T_contra], version: int) -> None:
        """Take ``objects``, by uid, as all that exist at ``version``; any other object no longer exists."""
        ...

    def put(self, obj: T_contra, version: int) -> None:
        """Keep an object that is new or has changed."""
        ...

    def drop(self, uid: str, obj: T_contra, version: int) -> None:
        """Remove an object that was deleted or no longer matches the selector; ``obj`` is its last state."""
        ...

    def reached(self, version: int) -> None:
        """Note that everything up to ``version`` has been delivered (a bookmark, or the end of a list)."""
        ...


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


class Page(msgspec.Struct, Generic[T], frozen=True):
    """One page of a list.

    ``proceed`` is the token of the next one, empty on the last; ``problems`` are unreadable items.
    """

    objects: list[T]
    version: int
    proceed: str
    problems: list[str]


class Decoder(Protocol[T]):
    """A decoder of bytes of one kind to objects. Neither call may raise because of a single object."""

    kind: str

    def event(self, line: bytes) -> Event[T]:
        """Decode a line of a watch. Never raises."""
        ...

    def page(self, body: bytes) -> Page[T]:
        """Decode a page of a list. Raises ``ApiError`` if the body is not a list at all."""
        ...
