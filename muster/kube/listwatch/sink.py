"""Where a reflector's objects go."""

from collections.abc import Iterable
from typing import Protocol, TypeVar

T_contra = TypeVar("T_contra", contravariant=True)


class Tracked(Protocol):
    """What a reflector has to know of any object."""

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
        """The whole truth as of ``version``: whatever is not among ``objects`` does not exist any more."""
        ...

    def put(self, obj: T_contra, version: int) -> None:
        """An object is new or has changed."""
        ...

    def drop(self, uid: str, obj: T_contra, version: int) -> None:
        """An object was deleted, or no longer matches the selector; ``obj`` is its last state."""
        ...

    def reached(self, version: int) -> None:
        """Nothing happened up to ``version`` that has not been delivered (a bookmark, or the end of a list)."""
        ...
