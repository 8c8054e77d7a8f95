"""Actors and questions: who acts in the simulated world, and what its oracles ask.

    python -m tests.simulation.coverage        print the table

An actor is a file of ``tests/scenarios``, by its docstring, or a family of faults. Every oracle judges every plan. So a
cell holds the oracle of its column, unless the question has no meaning there.
"""

import sys
from collections.abc import Iterator
from functools import cache

from tests.scenarios.catalogue import scenarios, tables
from tests.scenarios.operators import OPERATORS
from tests.scenarios.scenario import Scenario
from tests.simulation.plans.families import FAMILIES

CAUSE = "true cause, named with its pod?"
BACKOFF = "back-off as long as stated?"
ISOLATION = "other namespaces unmoved?"
OWN_STATUS = "own status and record of an object of another kind true and kept?"

QUESTIONS: dict[str, str] = {
    "one epoch, one process a rank, started in order?": "invariants",
    "right end, charged to the right account?": "ends",
    CAUSE: "causes",
    "same objects, none left?": "objects",
    "pods gone in time?": "departures",
    BACKOFF: "backoffs",
    "attempts only grow, wait, and keep their limits?": "repairs",
    "SameFailureAgain only where it is?": "recurrences",
    "only a rank that is slow named as slow?": "slow_ranks",
    "a hang called so only where it is, for as long, and at the end?": "verdicts",
    "a cause without a launcher's words?": "last_words",
    "each restart in a pod counted and said?": "restarts_in_place",
    "clocks within 1 s?": "ends",
    "Stuck and its sentence true and in time?": "troubles",
    "writes and Events bounded?": "budgets",
    ISOLATION: "isolation",
    OWN_STATUS: "run_kinds",
    "rests, and keeps nothing?": "rest",
}
"""Each question, with the module of ``tests/simulation/oracles`` that asks it."""

NO_RESTART = "no restart"
EXPERIMENTS = "Experiments only"
GLOBAL = "concerns all namespaces"
LOCAL = ("clean", "error", "slow-answer", "stranger")
"""Families whose faults concern one request or one object."""


@cache
def actors() -> dict[str, tuple[str, ...]]:
    """Each actor, with the scenarios or the family in which it acts."""
    return {
        **{str(each.__doc__).partition("\n")[0]: tuple(row.name for row in each.SCENARIOS) for each in tables()},
        **{f"faults: {family}": (family,) for family in FAMILIES},
    }


def empty(plans: tuple[str, ...], question: str) -> str:
    """Why the question has no meaning for the actor of these plans; empty if it has one."""
    (first, *_), rows = plans, [scenarios()[plan] for plan in plans if plan in scenarios()]
    if question == ISOLATION and first in FAMILIES and first not in LOCAL:
        return GLOBAL
    if question in (CAUSE, BACKOFF) and rows and not any(_ends_an_epoch(row) for row in rows):
        return NO_RESTART
    if question == OWN_STATUS and rows and not any(_of_run_kind(row) for row in rows):
        return EXPERIMENTS
    return ""


def table() -> Iterator[str]:
    """The lines of the table."""
    yield "| actor | plans | " + " | ".join(QUESTIONS) + " |"
    yield "|" + "---|" * (len(QUESTIONS) + 2)
    for actor, plans in actors().items():
        cells = [empty(plans, question) or f"`{oracle}`" for question, oracle in QUESTIONS.items()]
        yield f"| {actor} | plans {', '.join(f'`{plan}`' for plan in plans)} | " + " | ".join(cells) + " |"


def _ends_an_epoch(scenario: Scenario) -> bool:
    return any(end.epoch or end.restarts or end.disruptions for end in scenario.ends.values())


def _of_run_kind(scenario: Scenario) -> bool:
    return any(OPERATORS[name].of_run_kind for name in scenario.operators)


if __name__ == "__main__":
    sys.stdout.write("\n".join(table()) + "\n")
