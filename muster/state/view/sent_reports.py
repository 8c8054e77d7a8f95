"""Reports that programs have sent, one by one: the last of each rank, until the view counts them together.

A program that says how often it has reported, and by its own clock, is believed. One that does not (Kubeflow's callback
of transformers) is counted here, by the time at which its reports arrive.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

from muster.state.view.progress import StepReport

SAME_STEP = -1
"""In the place of a step: the one of the report before."""


@dataclass(slots=True)
class SentReports:
    """Of one experiment; those of the newest epoch that has sent any."""

    epoch: int = -1
    last: dict[int, StepReport] = field(default_factory=dict)
    came_at: dict[int, float] = field(default_factory=dict)
    """When the last report of each rank came, in wall seconds."""
    ranks: dict[str, int] = field(default_factory=dict)
    """By uid of a pod: the rank for which it was last found to report."""
    addresses: set[str] = field(default_factory=set)
    """Where its reports have come from."""
    reported: str = ""
    """Of a TrainJob: the time in the last report of its controller."""
    fresh: bool = False
    """There are some that ``taken`` has not returned."""

    def add(self, report: StepReport, epoch: int, now: float) -> None:
        """Keep that report. One with ``calls`` 0 is counted here, and came ``now``, in wall seconds."""
        if epoch != self.epoch:
            self.epoch, self.last, self.came_at, self.addresses = epoch, {}, {}, set()
        before = self.last.get(report.rank)
        if report.step == SAME_STEP:
            if before is None:
                return
            report = report._replace(step=before.step)
        if report.calls == 0:
            took = 0.0 if before is None else max(0.0, now - before.at - before.pause)
            longest = max(took, before.longest if before is not None else 0.0)
            calls = 1 if before is None else before.calls + 1
            report = report._replace(calls=calls, at=now, longest=longest)
        self.last[report.rank] = report
        self.came_at[report.rank] = now
        self.fresh = True

    def workers(self, now: float) -> frozenset[int]:
        """The ranks whose last report shows that they are at work now."""
        sent = ((rank, report.works, now - self.came_at[rank]) for rank, report in self.last.items() if report.works)
        return frozenset(rank for rank, works, passed in sent if 0.0 <= passed < works)

    def came_from(self, address: str) -> None:
        """A report has come from there. Of more addresses than reports it is not known which are of now."""
        if len(self.addresses) > 2 * len(self.last):
            self.addresses.clear()
        self.addresses.add(address)

    def taken(self, epoch: int) -> Collection[StepReport] | None:
        """The last report of each rank of that epoch; None where none has come since the last call."""
        if not self.fresh or epoch != self.epoch:
            return None
        self.fresh = False
        return self.last.values()
