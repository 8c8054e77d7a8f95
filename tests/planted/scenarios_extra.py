"""A scenario that planted bugs need and the daemon's own do not: somebody else's object has our name."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from unittest.mock import patch

from muster.kube.paths import core
from tests.simulation.oracles import final as oracles
from tests.simulation.plans.plan import Plan
from tests.simulation.scenarios.catalogue import scenarios
from tests.simulation.scenarios.scenario import At, End, Scenario
from tests.simulation.world.user_actions import NAMESPACE, People
from tests.simulation.world.world import World


@dataclass(frozen=True, slots=True)
class Service(At):
    """Somebody makes a Service of that name."""

    name: str = "run"


class Neighbours(People):
    """People who make Services, too."""

    def step(self, step: At) -> None:
        if isinstance(step, Service):
            path = core(NAMESPACE, "services", step.name)
            self.world.api.put(path, {"kind": "Service", "metadata": {"namespace": NAMESPACE, "name": step.name}})
        else:
            super().step(step)


class Town(World):
    """A world in which they live."""

    def __init__(self, plan: Plan, *, say: Callable[[str], None] | None = None) -> None:
        super().__init__(plan, say=say)
        self.people = Neighbours(self)


TAKEN = Scenario("name-taken", End("Failed", "NameTaken"), sizes=(4,), people=(Service(0.5),))
"""There is a Service of the experiment's name already, and it is nobody's: the experiment fails and says so."""


@contextmanager
def town() -> Iterator[None]:
    """Plans are played there."""
    with ExitStack() as stack:
        stack.enter_context(patch.dict(scenarios(), {TAKEN.name: TAKEN}))
        stack.enter_context(patch.object(oracles, "World", Town))
        yield
