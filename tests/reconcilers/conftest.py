"""A bench whose API server has the pods of a gang, and the actions that are carried out on it."""

from typing import Any

from muster.reconcilers.result import Outcome
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.actions import Action, CreatePods
from muster.state.vocabulary.plan import Plan
from tests.fakes.engines import Bench
from tests.fakes.plans import gang, members, record


async def do(bench: Bench, action: Action, plan: Plan, epoch: int = 0) -> Outcome:
    """Carry out the action while the record is of that epoch."""
    return await bench.engine.carry_out(action, plan, record(epoch))


async def launched(workers: int, epoch: int = 0, **settings: Any) -> tuple[Bench, Plan]:
    """A gang of so many workers, and a bench on which it was created in that epoch."""
    bench, plan = Bench(**settings), gang(workers)
    await do(bench, CreatePods(epoch, members(plan)), plan, epoch)
    return bench, plan


def edit(bench: Bench, path: str, **changes: Any) -> None:
    """Change an object on the server: merge top-level fields."""
    old = bench.api.objects[path]
    bench.api.put(path, {**old, **{name: {**old.get(name, {}), **change} for name, change in changes.items()}})


def refusal_in(outcome: Outcome) -> Refusal:
    """The refusal that the outcome must have."""
    assert outcome.refusal is not None
    return outcome.refusal
