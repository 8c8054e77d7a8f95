"""A scenario that only planted bugs need: an object of the experiment's name belongs to another owner."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from unittest.mock import patch

from muster.kube.paths import core
from tests.simulation.oracles import final as oracles
from tests.simulation.plans.plan import Plan
from tests.simulation.scenarios.catalogue import scenarios
from tests.simulation.scenarios.scenario import NAMESPACE, End, Scenario, UserAction
from tests.simulation.world.user_actions import Users
from tests.simulation.world.world import World


@dataclass(frozen=True, slots=True)
class CreateService(UserAction):
    """A user creates a Service of that name."""

    name: str = "run"


class ExtraUsers(Users):
    """Users who can create Services."""

    def step(self, step: UserAction) -> None:
        if isinstance(step, CreateService):
            path = core(NAMESPACE, "services", step.name)
            self.world.api.put(path, {"kind": "Service", "metadata": {"namespace": NAMESPACE, "name": step.name}})
        else:
            super().step(step)


class ExtraWorld(World):
    """A world with these users."""

    def __init__(self, plan: Plan, *, say: Callable[[str], None] | None = None) -> None:
        super().__init__(plan, say=say)
        self.users = ExtraUsers(self)


NAME_TAKEN = Scenario("name-taken", End("Failed", "NameTaken"), sizes=(4,), user_actions=(CreateService(0.5),))
"""A Service of the experiment's name exists already and has another owner: the experiment fails and says so."""


@contextmanager
def extra_scenarios() -> Iterator[None]:
    """Play plans in ``ExtraWorld``, with ``name-taken`` among the scenarios."""
    with ExitStack() as stack:
        stack.enter_context(patch.dict(scenarios(), {NAME_TAKEN.name: NAME_TAKEN}))
        stack.enter_context(patch.object(oracles, "World", ExtraWorld))
        yield
