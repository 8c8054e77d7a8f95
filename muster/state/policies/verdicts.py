"""Verdicts: the answers of a policy, which is a function from a context to one of these, or to None."""

import msgspec

from muster.state.vocabulary.record import Cause, Record
from muster.state.vocabulary.rules import FailureRule


class Succeed(msgspec.Struct, frozen=True):
    """Success: the success rule holds."""

    message: str
    reason: str = "AllMembersSucceeded"


class Fail(msgspec.Struct, frozen=True):
    """The end without success. ``cause`` is the failure behind it, if there is one."""

    reason: str
    message: str = ""
    """The text; empty if it follows from the reason (``summary.ends``)."""
    cause: Cause | None = None
    named: frozenset[int] = frozenset()
    """The ranks that the message names, with the reason why they are missing."""
    rule: FailureRule | None = None
    """The failure rule that ends it."""


class Restart(msgspec.Struct, frozen=True):
    """The end of this epoch: the gang starts again. ``counted`` restarts use the restart budget.

    ``rule`` names the failure rule if it has a limit. One that was ``requested`` follows at once, and is no part of the
    row of disruptions.
    """

    cause: Cause
    counted: bool
    rule: str = ""
    requested: bool = False


class Repair(msgspec.Struct, frozen=True):
    """A new attempt of members or jobs, or their end, while the epoch continues: ``record`` shows which."""

    record: Record


class Requeue(msgspec.Struct, frozen=True):
    """The end of this epoch because the queue has taken the quota back: the next one waits for its admission."""

    cause: Cause


class Suspend(msgspec.Struct, frozen=True):
    """The deletion of the gang; the experiment is kept."""


class Resume(msgspec.Struct, frozen=True):
    """The new start of a suspended experiment."""


class ReadFirst(msgspec.Struct, frozen=True):
    """A read of the pods from the live API before a verdict, because a late cache could show the same."""


class Wait(msgspec.Struct, frozen=True):
    """A delay: the cause of a failure may become known until that wall second, and it is decided then."""

    until: float


Verdict = Succeed | Fail | Restart | Repair | Requeue | Suspend | Resume | ReadFirst | Wait
