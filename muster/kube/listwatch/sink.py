"""Where a reflector's objects go."""

from collections.abc import Iterable
from typing import Protocol, TypeVar

T_contra = TypeVar("T_contra", contravariant=True)


class Tracked(Protocol):
    """What a reflector needs of an object."""

    @property
    def uid(self) -> str:
        """metadata.uid."""
        ...

    @property
    def resource_version(self) -> int:
        """metadata.resourceVersion, as a number."""
        ...


class Sink(Protocol[T_contra]):
    """Receives one kind's objects. Called on the event loop, in order; a call must neither block nor raise.

    ``version`` is always the newest resourceVersion known to be contained in what was received so far.
    """

    def replace(self, objects: Iterable[T_contra], version: int) -> None:
        """Take ``objects`` as all there are at ``version``; any other does not exist any more."""
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
