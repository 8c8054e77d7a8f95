"""Work on what tenants wrote, in turns: between two of them the event loop does what else is due.

A function that does such work is a generator. It yields about every ``A_TURN`` items, which take a few milliseconds,
and returns its result. A caller without an event loop to share uses ``at_once``.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice
from typing import Final, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")
Turns = Generator[None, None, T]

A_TURN: Final = 512
"""Reports, entries or ranks of one turn."""


def batches(items: Iterable[T]) -> Iterator[tuple[T, ...]]:
    """Yield the items in their order, as many at a time as one turn has."""
    left = iter(items)
    while batch := tuple(islice(left, A_TURN)):
        yield batch


def finished(work: Turns[T]) -> T:
    """Return the result of the work, without a pause."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: T = end.value
            return result


def at_once(work: Callable[P, Turns[T]]) -> Callable[P, T]:
    """Return the function that does that work without a pause."""

    def whole(*args: P.args, **kwargs: P.kwargs) -> T:
        return finished(work(*args, **kwargs))

    whole.__name__, whole.__doc__ = work.__name__.removesuffix("_in_turns"), work.__doc__
    return whole
