"""Plays the plans of a bug until it is caught."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.planted.bug import Bug, Hunt, planted
from tests.simulation import runner
from tests.simulation.plans import families
from tests.simulation.plans.plan import parse

ENOUGH = 3
"""Violated plans after which a hunt ends."""
MISFITS = ("AttributeError(", "NameError(", "TypeError(")
"""Exceptions of a patch that no longer fits the product. They violate any plan, and catch nothing."""


class Misfit(AssertionError):
    """A planted bug no longer fits the product."""


@dataclass(frozen=True, slots=True)
class Catch:
    """The outcome of one hunt: the plans played, and the violated ones, each with its first violation."""

    hunt: Hunt
    played: tuple[str, ...]
    violated: tuple[tuple[str, str], ...]


def lines(hunt: Hunt) -> list[str]:
    """The plans of a hunt: always the same ones, in the same order.

    Call it while no bug is planted: plans are derived from the clean run.
    """
    clean = runner.reference(hunt.scenario, hunt.size, hunt.operator)
    every = [str(each) for each in families.plans(hunt.family, clean, everywhere=True)]
    return Random(f"{hunt.family}/{hunt.scenario}").sample(every, min(hunt.most, len(every)))


def play_until_caught(bugs: Sequence[Bug], hunt: Hunt, chosen: Sequence[str], enough: int = ENOUGH) -> Catch:
    """Play the plans with these bugs planted, until ``enough`` of them are violated."""
    played: list[str] = []
    violated: list[tuple[str, str]] = []
    for line in chosen:
        played.append(line)
        if found := violations_of(bugs, line):
            violated.append((line, found[0]))
            if len(violated) == enough:
                break
    return Catch(hunt, tuple(played), tuple(violated))


def violations_of(bugs: Sequence[Bug], line: str) -> tuple[str, ...]:
    """The violations of one plan that count as catching these bugs. Raises ``Misfit`` for a bug that fails itself."""
    plan = parse(line)
    runner.reference(plan.scenario, plan.size, plan.operator)  # cached before anything is planted
    with planted(bugs):
        found = runner.judge(plan).violations
    for each in found if bugs else ():
        if any(exception in each for exception in MISFITS):
            raise Misfit(f"{' + '.join(bug.name for bug in bugs)} does not fit the product any more: {each}")
    return tuple(each for each in found if all(bug.shown_by in each for bug in bugs))
