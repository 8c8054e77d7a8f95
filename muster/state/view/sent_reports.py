"""Reports that programs have sent, one by one: the last of each rank, until the view counts them together.

A program that sends the number of its reports, and their times by its own clock, is believed. One that does not
(Kubeflow's callback of transformers) is counted here, by the time at which its reports arrive.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

from muster.state.view.progress import StepReport

SAME_STEP = -1
"""The step of a report that repeats the step of the report before."""


@dataclass(slots=True)
class SentReports:
    """The reports of one experiment, from the newest epoch that has sent any."""

    epoch: int = -1
    last: dict[int, StepReport] = field(default_factory=dict)
    came_at: dict[int, float] = field(default_factory=dict)
    """The time of the last report of each rank, in wall seconds."""
    ranks: dict[str, int] = field(default_factory=dict)
    """By uid of a pod: the rank for which it was last found to report."""
    addresses: dict[str, None] = field(default_factory=dict)
    """The addresses from which its reports have come, as keys: an empty set is larger than an empty dict."""
    reported: str = ""
    """The time in the last report of a TrainJob's controller."""
    fresh: bool = False
    """True if there are some that ``taken`` has not returned."""

    def add(self, report: StepReport, epoch: int, now: float) -> None:
        """Keep that report. One with ``calls`` 0 is counted here, and came ``now``, in wall seconds."""
        if epoch != self.epoch:
            self.epoch, self.last, self.came_at, self.addresses = epoch, {}, {}, {}
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
        """Return the ranks whose last report shows that they are at work now."""
        sent = ((rank, report.works, now - self.came_at[rank]) for rank, report in self.last.items() if report.works)
        return frozenset(rank for rank, works, passed in sent if 0.0 <= passed < works)

    def came_from(self, address: str) -> None:
        """Keep the address of a report. If addresses are more than reports, it is unknown which are current."""
        if len(self.addresses) > 2 * len(self.last):
            self.addresses.clear()
        self.addresses[address] = None

    def taken(self, epoch: int) -> Collection[StepReport] | None:
        """Return the last report of each rank of that epoch; None if none has come since the last call."""
        if not self.fresh or epoch != self.epoch:
            return None
        self.fresh = False
        return self.last.values()
