"""Plays a bug's plans until it is caught."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.planted.bug import Bug, Hunt, planted
from tests.planted.scenarios_extra import town
from tests.simulation import runner
from tests.simulation.plans import families
from tests.simulation.plans.plan import parse
from tests.simulation.scenarios.catalogue import scenarios

ENOUGH = 3
"""Violated plans of one hunt after which a bug is caught beyond doubt."""


@dataclass(frozen=True, slots=True)
class Catch:
    """What came of one hunt: the lines of the plans played, and those violated with the first thing each shows."""

    hunt: Hunt
    played: tuple[str, ...]
    violated: tuple[tuple[str, str], ...]


def lines(hunt: Hunt) -> list[str]:
    """The plans of a hunt, drawn from all there are: always the same ones, in the same order.

    To be called on the undamaged product: plans are worked out from the run in which nothing goes wrong.
    """
    with town():
        clean = runner.reference(hunt.scenario, hunt.size)
        every = [str(each) for each in families.plans(hunt.family, scenarios()[hunt.scenario], clean, full=True)]
    return Random(f"{hunt.family}/{hunt.scenario}").sample(every, min(hunt.most, len(every)))


def track(bugs: Sequence[Bug], hunt: Hunt, chosen: Sequence[str], enough: int = ENOUGH) -> Catch:
    """Play the plans with these bugs planted, until so many are violated."""
    played: list[str] = []
    violated: list[tuple[str, str]] = []
    for line in chosen:
        played.append(line)
        if found := verdict(bugs, line):
            violated.append((line, found[0]))
            if len(violated) == enough:
                break
    return Catch(hunt, tuple(played), tuple(violated))


def verdict(bugs: Sequence[Bug], line: str) -> tuple[str, ...]:
    """What one plan shows of the bugs; nothing, if they are not caught (or there are none)."""
    plan = parse(line)
    with town():
        runner.reference(plan.scenario, plan.size)  # before anything is planted
        with planted(bugs):
            found = runner.judge(plan).violations
    return tuple(each for each in found if all(bug.shown_by in each for bug in bugs))
