"""What a policy is given, and what it may answer.

A policy is a function from a case to a verdict, or to None when it has nothing to say. It reads counts and notable
members; it never loops over the gang.
"""

from dataclasses import dataclass

import msgspec

from muster.state.plan import Plan
from muster.state.pod import Pod
from muster.state.record import Cause, Record
from muster.state.view import ProbeResult, Tally, View


class Case(msgspec.Struct, frozen=True):
    """One experiment at one instant. ``now`` is in wall seconds."""

    plan: Plan
    record: Record
    view: View
    now: float

    def with_record(self, record: Record) -> "Case":
        """The same case with another record."""
        return Case(self.plan, record, self.view, self.now)

    @property
    def tally(self) -> Tally:
        """The pods of the record's epoch."""
        return self.view.of(self.record.epoch)

    @property
    def probe(self) -> ProbeResult | None:
        """What this epoch's coordinator said last."""
        return self.view.probe_result_of(self.record.epoch)

    @property
    def lingering(self) -> list[Pod]:
        """Pods of other epochs that may still run: nothing of this epoch may start beside them."""
        return [pod for tally in self.view.others(self.record.epoch) for pod in tally.live.values()]

    @property
    def launched(self) -> bool:
        """Every member had a pod once in this epoch. Whoever is missing now is gone and not still to come; made again
        in the same epoch, it would be a second life of its rank, which the first one's coordinator does not take."""
        return self.complete or self.view.launched == self.record.epoch

    @property
    def complete(self) -> bool:
        """Every member was there and had a node once in this epoch."""
        return self.record.scheduled_at is not None


@dataclass(frozen=True, slots=True)
class Succeed:
    """The experiment has done its work."""

    message: str


@dataclass(frozen=True, slots=True)
class Fail:
    """The experiment ends without success. ``cause`` is the failure behind it, where there is one."""

    reason: str
    message: str
    cause: Cause | None = None


@dataclass(frozen=True, slots=True)
class Restart:
    """This epoch is over; the gang starts again."""

    cause: Cause


@dataclass(frozen=True, slots=True)
class Suspend:
    """The gang goes, the experiment stays."""


@dataclass(frozen=True, slots=True)
class Resume:
    """A suspended experiment starts anew."""


@dataclass(frozen=True, slots=True)
class ReadFirst:
    """There would be a verdict, but what calls for it is also what a late cache shows: look past the cache first."""


Verdict = Succeed | Fail | Restart | Suspend | Resume | ReadFirst
