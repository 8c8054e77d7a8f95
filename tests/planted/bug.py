"""A planted bug: a name, patches that are applied while a plan is played, and the plans that hunt for it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any
from unittest.mock import patch


@dataclass(frozen=True, slots=True)
class Hunt:
    """Plans of one family for one scenario, at most ``most`` of them, drawn at random with a fixed seed."""

    family: str
    scenario: str
    size: int = 4
    operator: str = "jax"
    most: int = 60


Swaps = Sequence[AbstractContextManager[Any]]


@dataclass(frozen=True, slots=True)
class Bug:
    """One bug. ``patches`` is called again for every plan, so its state lasts for one plan."""

    name: str
    about: str
    patches: Callable[[], Swaps]
    hunts: tuple[Hunt, ...]
    shown_by: str = ""
    """Text that a violation must contain to count, where the bug by its nature violates another oracle as well."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two bugs at once: guards that cover for each other."""

    first: Bug
    second: Bug
    hunts: tuple[Hunt, ...]

    @property
    def name(self) -> str:
        """Both names."""
        return f"{self.first.name} + {self.second.name}"


def bug(*hunts: Hunt, shown_by: str = "") -> Callable[[Callable[[], Swaps]], Bug]:
    """Make a bug of a function: the function's name is the bug's, and its docstring says what the bug is."""

    def make(patches: Callable[[], Swaps]) -> Bug:
        return Bug(patches.__name__.replace("_", "-"), patches.__doc__ or "", patches, hunts, shown_by)

    return make


def instead_of(owner: Any, name: str) -> Callable[[Callable[..., Any]], Callable[[], Swaps]]:
    """Make patches of a function that is called in place of ``owner.name``, and gets that one as its first argument."""

    def make(damaged: Callable[..., Any]) -> Callable[[], Swaps]:
        @wraps(damaged)
        def patches() -> Swaps:
            undamaged = getattr(owner, name)
            return [swap(owner, name, lambda *args, **named: damaged(undamaged, *args, **named))]

        return patches

    return make


def swap(owner: Any, name: str, value: Any) -> AbstractContextManager[Any]:
    """Replace ``owner.name`` while the bug is planted. Raises AttributeError where there is no such name."""
    return patch.object(owner, name, value)


@contextmanager
def planted(bugs: Sequence[Bug]) -> Iterator[None]:
    """Apply the patches of all these bugs; later ones see the effect of earlier ones."""
    with ExitStack() as stack:
        for each in bugs:
            for change in each.patches():
                stack.enter_context(change)
        yield
