"""What an operator file says: only what is special about its framework."""

from collections.abc import Callable
from dataclasses import dataclass

from muster.api.manifest.groups import Group
from muster.state.plan import Coordinator, Env


@dataclass(frozen=True, slots=True)
class Framework:
    """A framework, as far as Muster has to know it.

    ``env`` gives the variables of one group's members, ``coordinator`` the member they meet at (None: they do not).
    """

    env: Callable[[Group, tuple[Group, ...]], tuple[Env, ...]]
    coordinator: Callable[[tuple[Group, ...]], Coordinator | None]


def size_of(groups: tuple[Group, ...]) -> int:
    """How many members the groups have together."""
    return sum(group.members for group in groups)
