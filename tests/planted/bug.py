"""What a planted bug is: a name, a way to bend the product while a plan is played, and the plans that hunt for it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch


@dataclass(frozen=True, slots=True)
class Hunt:
    """The plans of one family for one scenario: at most ``most`` of them, spread evenly over all there are."""

    family: str
    scenario: str
    size: int = 4
    most: int = 60


Swaps = Sequence[AbstractContextManager[Any]]


@dataclass(frozen=True, slots=True)
class Bug:
    """One mistake. ``bend`` is called anew for every plan, so what it remembers is remembered for one plan."""

    name: str
    about: str
    bend: Callable[[], Swaps]
    hunts: tuple[Hunt, ...]
    shown_by: str = ""
    """What a violation must say to count, where the bug by its nature offends another oracle as well."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two mistakes at once: guards that stand in for each other."""

    first: Bug
    second: Bug
    hunts: tuple[Hunt, ...]

    @property
    def name(self) -> str:
        """Both names."""
        return f"{self.first.name} + {self.second.name}"


def bug(*hunts: Hunt, shown_by: str = "") -> Callable[[Callable[[], Swaps]], Bug]:
    """Make a bug of a function: its name is the bug's, its docstring says what the mistake is."""

    def make(bend: Callable[[], Swaps]) -> Bug:
        return Bug(bend.__name__.replace("_", "-"), bend.__doc__ or "", bend, hunts, shown_by)

    return make


def swap(owner: Any, name: str, value: Any) -> AbstractContextManager[Any]:
    """``owner.name`` is ``value`` while the bug is planted. Raises AttributeError where there is no such name."""
    return patch.object(owner, name, value)


@contextmanager
def planted(bugs: Sequence[Bug]) -> Iterator[None]:
    """The product with these mistakes in it. The second bends what the first has left."""
    with ExitStack() as stack:
        for each in bugs:
            for change in each.bend():
                stack.enter_context(change)
        yield
