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
    text: str
    """Part of the violation."""
    operator: str = ""
    """Empty: any."""
    scenario: str = ""
    """Empty: any."""
    kinds: tuple[str, ...] = ()
    """Empty: any, and none."""

    def matches(self, plan: Plan, violation: str) -> bool:
        """Whether that violation of that plan is this one."""
        return (
            self.text in violation
            and self.operator in ("", plan.operator)
            and self.scenario in ("", plan.scenario)
            and (not self.kinds or plan.has(*self.kinds))
        )


EXPECTED: tuple[Expected, ...] = (
    Expected(
        "a finished member of a sequential group runs again when its pod is deleted",
        "happy:op=jobset-sequential:n=4:delete-pod=15/0",
        "is created 2 times",
        operator="jobset-sequential",
        kinds=("delete-pod",),
    ),
    Expected(
        "a running member of a sequential group whose deletion is seen late runs again in the same epoch",
        "preempted:op=jobset-sequential:n=4:hold=27/8",
        "is created 2 times",
        operator="jobset-sequential",
        kinds=("hold", "drop", "stale", "crash-before", "crash-after", "late"),
    ),
)


def unexpected(plan: Plan, violations: tuple[str, ...]) -> tuple[str, ...]:
    """The violations of a plan that no entry matches."""
    return tuple(each for each in violations if not any(known.matches(plan, each) for known in EXPECTED))
