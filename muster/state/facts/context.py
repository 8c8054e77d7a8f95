"""The input of a policy: one experiment at one instant, and the devices that it holds.

A policy reads counts and a few members, and changes nothing.
"""

from collections.abc import Iterator
from typing import Self

import msgspec
from msgspec.structs import replace

from muster.api.values.accelerators import Devices, total
from muster.state.view.probe_result import ProbeResult
from muster.state.view.tally import Tally
from muster.state.view.view import View
from muster.state.vocabulary.plan import Engine, Plan
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Record, attempts_of


def held(plan: Plan, view: View) -> Devices:
    """Return the devices of its pods that are on a node and have not ended, those of older epochs too.

    A pod without a node holds nothing, whatever it asks for. For a run of Muster's the plan has the devices of each pod
    of a group; for a run of another controller each pod has its own.
    """
    return total(_parts(plan, view)) if plan.devices or plan.engine is Engine.WATCH else ()


def _parts(plan: Plan, view: View) -> Iterator[tuple[Devices, int]]:
    for tally in view.epochs.values():
        if plan.engine is Engine.WATCH:
            yield from tally.devices.items()
            continue
        for name, counts in tally.groups.items():
            if counts.placed:
                yield plan.devices.get(name, ()), counts.placed
        for pod in tally.older.values():
            if pod.live and pod.node:
                yield plan.devices.get(pod.group, ()), 1


class Context(msgspec.Struct, frozen=True):
    """One experiment at one instant. ``now`` is in wall seconds."""

    plan: Plan
    record: Record
    view: View
    now: float
    tally: Tally
    """The pods of the record's epoch, looked up once, because each decision reads them twenty times."""
    probe: ProbeResult | None
    """The last answer of this epoch's coordinator."""

    @classmethod
    def at(cls, plan: Plan, record: Record, view: View, now: float) -> "Context":
        """Return the context of that record."""
        return Context(plan, record, view, now, view.of(record.epoch), view.probe_result_of(record.epoch))

    def with_record(self, record: Record) -> Self:
        """Return this context with another record."""
        if record is self.record:
            return self
        tally, probe = self.view.of(record.epoch), self.view.probe_result_of(record.epoch)
        return replace(self, record=record, tally=tally, probe=probe)

    @property
    def lingering(self) -> list[Pod]:
        """Return pods of other epochs and attempts that may still run: successors may not start beside them."""
        others = [pod for tally in self.view.others(self.record.epoch) for pod in tally.alive.values()]
        older = [pod for pod in self.tally.older.values() if pod.live]
        if not self.settled:
            members, attempts = self.tally.members, attempts_of(self.record.attempts).items()
            older += [pod for rank, attempt in attempts if (pod := members.get(rank)) and pod.attempt != attempt]
        return [*others, *(pod for pod in older if pod.live)]

    @property
    def settled(self) -> bool:
        """Return True if the tally counts the attempts of this record: not in the decision that begins new ones."""
        tally, record = self.tally, self.record
        if tally.lives == (record.attempts, record.ignored):
            return True
        same = attempts_of(record.attempts) == tally.attempts  # the times may have been moved with the wall clock
        return same and record.ignored == tally.lives[1]

    @property
    def launched(self) -> bool:
        """Return True if every member once had a pod in this epoch: a pod missing now was lost and is not pending.

        Such a pod is not created again in this epoch: a coordinator such as JAX's rejects a rank's second registration.
        """
        return self.complete or self.view.engine.launched == self.record.epoch

    @property
    def complete(self) -> bool:
        """Return True if every member once had a pod with a node in this epoch."""
        return self.record.scheduled_at is not None
