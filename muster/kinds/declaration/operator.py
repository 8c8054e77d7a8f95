"""The declaration of an operator: only what is special about its framework."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from muster.api.manifest.experiment import Experiment
from muster.api.manifest.groups import Group
from muster.api.manifest.operators import InMembers
from muster.api.manifest.resources import Resources
from muster.api.names import ENV_PREFIX
from muster.state.vocabulary.coordinator import Coordinator
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod_spec import Env
from muster.state.vocabulary.rules import EVERY_JOB, GANG_FAILURE_RULES, CulpritRule, FailureRule, SuccessRule

SAMPLE: Final = Group("worker", 1, 1, 1, Resources(cpus=1, memory=1))
"""A group whose variables have the names that those of any other have."""


@dataclass(frozen=True, slots=True)
class Operator(InMembers):
    """A framework, as far as Muster has to know it.

    ``env`` gives the variables of one group's members, ``coordinator`` the member they meet at (None: they do not).
    """

    name: str
    env: Callable[[Group, tuple[Group, ...]], tuple[Env, ...]]
    coordinator: Callable[[tuple[Group, ...]], Coordinator | None]
    success: SuccessRule = EVERY_JOB
    failures: tuple[FailureRule, ...] = GANG_FAILURE_RULES
    survivor_exits: frozenset[int] = frozenset()
    """Exit codes with which members end because another member was lost."""
    survivor_text: str = ""
    """Regular expression of the last words of such members."""
    culprits: tuple[CulpritRule, ...] = ()
    """Rules by which such members, or the coordinator, name the one that was lost."""
    launcher: float = 0.0
    """Seconds that its launcher needs to see that a process of its pod has ended."""
    finish: Callable[[Experiment, Plan], Plan] | None = None
    """Function that adds to the plan of the manifest's types: groups of the framework's own, gates, programs."""
    finished_env: Callable[[], tuple[Env, ...]] = tuple
    """Variables that ``finish`` adds, with any values."""
    restart_grace: int | None = None
    """Seconds of grace for the pods of a broken gang where the manifest states none; None: the pods' usual grace."""

    @property
    def named(self) -> str:
        """Return the name that a manifest has for it."""
        return self.name

    @property
    def injected(self) -> frozenset[str]:
        """Return the variables that it sets in a member, as ``env`` and ``finish`` give them."""
        given = (*self.env(SAMPLE, (SAMPLE,)), *self.finished_env())
        return frozenset(each.name for each in given if not each.name.startswith(ENV_PREFIX))


def size_of(groups: tuple[Group, ...]) -> int:
    """Return the number of members that the groups have together."""
    return sum(group.members for group in groups)
