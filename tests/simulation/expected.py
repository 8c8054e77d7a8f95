"""Violations that are known and wait for their fix: the one list of them.

A violation that an entry matches does not fail its plan. Each entry names a plan that shows it, and
``test_expected.py`` fails as soon as that plan passes: then the entry must go.
"""

from dataclasses import dataclass

from tests.simulation.plans.plan import Plan


@dataclass(frozen=True, slots=True)
class Expected:
    """A known violation, in plans with this operator and one of these kinds of faults."""

    about: str
    shown_by: str
    """The line of a plan that shows it."""
    texts: tuple[str, ...] = ()
    """Any of these is part of the violation; empty: any, and the scenario is played without faults only."""
    operator: str = ""
    """Empty: any."""
    scenario: str = ""
    """Empty: any."""
    kinds: tuple[str, ...] = ()
    """Empty: any, and none."""

    def matches(self, plan: Plan, violation: str) -> bool:
        """Whether that violation of that plan is this one."""
        return (
            (not self.texts or any(text in violation for text in self.texts))
            and self.operator in ("", plan.operator)
            and self.scenario in ("", plan.scenario)
            and (not self.kinds or plan.has(*self.kinds))
        )


EXPECTED: tuple[Expected, ...] = (
    Expected(
        "a running member of a sequential group whose deletion is seen late runs again in the same epoch",
        "preempted:op=jobset-sequential:n=4:hold=25/8",
        ("is created 2 times",),
        operator="jobset-sequential",
        kinds=("hold", "drop", "stale", "crash-before", "crash-after", "late", "skew", "delete-pod"),
    ),
)


WITHOUT_FAULTS = frozenset(known.scenario for known in EXPECTED if known.scenario and not known.texts)
"""Scenarios that are played without faults only, as long as they violate anyway."""


def unexpected(plan: Plan, violations: tuple[str, ...]) -> tuple[str, ...]:
    """The violations of a plan that no entry matches."""
    return tuple(each for each in violations if not any(known.matches(plan, each) for known in EXPECTED))
