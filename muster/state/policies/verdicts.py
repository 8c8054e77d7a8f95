"""Verdicts: the answers of a policy, which is a function from a context to one of these, or to None."""

from dataclasses import dataclass

from muster.state.vocabulary.record import Cause, Record
from muster.state.vocabulary.rules import FailureRule


@dataclass(frozen=True, slots=True)
class Succeed:
    """Success: the success rule holds."""

    message: str
    reason: str = "AllMembersSucceeded"


@dataclass(frozen=True, slots=True)
class Fail:
    """The end without success. ``cause`` is the failure behind it, if there is one."""

    reason: str
    message: str = ""
    """The text; empty if it follows from the reason (``summary.ends``)."""
    cause: Cause | None = None
    named: frozenset[int] = frozenset()
    """The ranks that the message names, with the reason why they are missing."""
    rule: FailureRule | None = None
    """The failure rule that ends it."""


@dataclass(frozen=True, slots=True)
class Restart:
    """The end of this epoch: the gang starts again. ``counted`` restarts use the restart budget.

    ``rule`` names the failure rule if it has a limit. One that was ``requested`` follows at once, and is no part of the
    row of disruptions.
    """

    cause: Cause
    counted: bool
    rule: str = ""
    requested: bool = False


@dataclass(frozen=True, slots=True)
class Repair:
    """A new attempt of members or jobs, or their end, while the epoch continues: ``record`` shows which."""

    record: Record


@dataclass(frozen=True, slots=True)
class Requeue:
    """The end of this epoch because the queue has taken the quota back: the next one waits for its admission."""

    cause: Cause


@dataclass(frozen=True, slots=True)
class Suspend:
    """The deletion of the gang; the experiment is kept."""


@dataclass(frozen=True, slots=True)
class Resume:
    """The new start of a suspended experiment."""


@dataclass(frozen=True, slots=True)
class ReadFirst:
    """A read of the pods from the live API before a verdict, because a late cache could show the same."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A delay: the cause of a failure may become known until that wall second, and it is decided then."""

    until: float


Verdict = Succeed | Fail | Restart | Repair | Requeue | Suspend | Resume | ReadFirst | Wait
