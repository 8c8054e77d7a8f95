"""What a policy reads, and what it may answer.

A policy is a function from a context to a verdict, or to None where it has nothing to say. It reads counts and notable
members, never loops over the gang, and cannot change the view.
"""

from dataclasses import dataclass
from typing import Self

import msgspec
from msgspec.structs import replace

from muster.state.view.probe_result import ProbeResult
from muster.state.view.read_only import ReadOnlyView
from muster.state.view.tally import Tally
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Cause, Record, attempts_of


class Context(msgspec.Struct, frozen=True):
    """One experiment at one instant. ``now`` is in wall seconds."""

    plan: Plan
    record: Record
    view: ReadOnlyView
    now: float
    tally: Tally
    """The pods of the record's epoch. (Asked twenty times in each decision, so it is looked up once.)"""
    probe: ProbeResult | None
    """What this epoch's coordinator said last."""

    @classmethod
    def at(cls, plan: Plan, record: Record, view: ReadOnlyView, now: float) -> "Context":
        """The context of that record."""
        return Context(plan, record, view, now, view.of(record.epoch), view.probe_result_of(record.epoch))

    def with_record(self, record: Record) -> Self:
        """The same context with another record."""
        if record is self.record:
            return self
        if record.epoch == self.record.epoch:
            return replace(self, record=record)
        tally, probe = self.view.of(record.epoch), self.view.probe_result_of(record.epoch)
        return replace(self, record=record, tally=tally, probe=probe)

    @property
    def alone(self) -> bool:
        """No pod is there, seen or not, but those of the record's epoch and attempts: so it is in most decisions."""
        epochs, epoch = self.view.epochs, self.record.epoch
        if len(epochs) > (epoch in epochs) or self.view.engine.vanished:
            return False
        return not self.tally.previous and self.settled

    @property
    def lingering(self) -> list[Pod]:
        """Pods of other epochs and attempts that may still run: their successors may not start beside them."""
        if self.alone:
            return []
        others = [pod for tally in self.view.others(self.record.epoch) for pod in tally.alive.values()]
        older = [pod for pod in self.tally.previous.values() if pod.live]
        if not self.settled:
            members, attempts = self.tally.members, attempts_of(self.record.attempts).items()
            older += [pod for rank, attempt in attempts if (pod := members.get(rank)) and pod.attempt != attempt]
        return [*others, *(pod for pod in older if pod.live)]

    @property
    def settled(self) -> bool:
        """The tally counts the attempts of this record. Not so in the decision that begins new ones."""
        tally, record = self.tally, self.record
        if tally.lives == (record.attempts, record.ignored):
            return True
        same = attempts_of(record.attempts) == tally.attempts  # the times may have been moved with the wall clock
        return same and record.ignored == tally.lives[1]

    @property
    def launched(self) -> bool:
        """Every member had a pod once in this epoch: a pod that is missing now was lost and is not pending.

        It is not created again in this epoch: a coordinator such as JAX's rejects a second registration of a rank.
        """
        return self.complete or self.view.engine.launched == self.record.epoch

    @property
    def complete(self) -> bool:
        """Every member was there and had a node once in this epoch."""
        return self.record.scheduled_at is not None


@dataclass(frozen=True, slots=True)
class Succeed:
    """The success rule holds."""

    message: str
    reason: str = "AllMembersSucceeded"


@dataclass(frozen=True, slots=True)
class Fail:
    """The experiment ends without success. ``cause`` is the failure behind it, where there is one."""

    reason: str
    message: str
    cause: Cause | None = None
    named: frozenset[int] = frozenset()
    """The ranks that the message names, with why they are missing."""


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
