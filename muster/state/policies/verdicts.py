"""Verdicts: what a policy may answer. It is a function from a context to one of these, or to None."""

from dataclasses import dataclass

from muster.state.vocabulary.record import Cause, Record
from muster.state.vocabulary.rules import FailureRule


@dataclass(frozen=True, slots=True)
class Succeed:
    """The success rule holds."""

    message: str
    reason: str = "AllMembersSucceeded"


@dataclass(frozen=True, slots=True)
class Fail:
    """The experiment ends without success. ``cause`` is the failure behind it, where there is one."""

    reason: str
    message: str = ""
    """Empty where it follows from the reason (``summary.ends``)."""
    cause: Cause | None = None
    named: frozenset[int] = frozenset()
    """The ranks that the message names, with why they are missing."""
    rule: FailureRule | None = None
    """The failure rule that ends it."""


@dataclass(frozen=True, slots=True)
class Restart:
    """This epoch is over; the gang starts again. ``counted`` restarts use the restart budget.

    ``rule`` names the failure rule if it has a limit. One that was ``requested`` follows at once, and is no part of the
    row of disruptions.
    """

    cause: Cause
    counted: bool
    rule: str = ""
    requested: bool = False


@dataclass(frozen=True, slots=True)
class Repair:
    """Members or jobs run again, or are given up, and the epoch goes on: ``record`` says which."""

    record: Record


@dataclass(frozen=True, slots=True)
class Requeue:
    """The queue has taken the quota back: this epoch is over, and the next one waits for its admission."""

    cause: Cause


@dataclass(frozen=True, slots=True)
class Suspend:
    """Delete the gang and keep the experiment."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Start a suspended experiment anew."""


@dataclass(frozen=True, slots=True)
class ReadFirst:
    """A late cache could show the same: read the pods from the live API before a verdict."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A failure is seen whose cause may come to be known until then: decide it at that wall second."""

    until: float


Verdict = Succeed | Fail | Restart | Repair | Requeue | Suspend | Resume | ReadFirst | Wait
