"""The roll-call page of 10,000 ranks, some of them missing: CPU of the server for one answer, and its size.

The page must arrive within a second. The budget leaves most of that to the network and to the browser.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.harness.gangs import gang, pod, roll, seen
from benchmarks.harness.measuring import best_of
from benchmarks.harness.report import Result
from muster.api.gang import RollCall
from muster.daemon.web.pages import Pages
from muster.daemon.web.readers import Anyone
from muster.metrics.collector import Subject
from muster.state.vocabulary.record import Phase, Record

RANKS, NOW = 10_000, 1_800_000_000.0
ANSWERS, ROUNDS = 1, 10
BUDGET = 0.25
"""Seconds."""
LARGEST = 2.0
"""Megabytes of HTML."""


@dataclass(frozen=True, slots=True)
class Index:
    """The index of a daemon that has these experiments."""

    here: Sequence[Subject]

    def subjects(self) -> Sequence[Subject]:
        """Return all of them."""
        return self.here

    def find(self, namespace: str, name: str) -> Subject | None:
        """Never asked for."""
        raise LookupError(f"{namespace}/{name}")


def large() -> Subject:
    """Return a run without ten ranks of each thousand, five of these with a pod that has not started."""
    plan = gang(RANKS)
    absent = frozenset(rank for rank in range(RANKS) if rank % 1000 < 10)
    pods = [pod(plan, rank, started=rank not in absent or rank % 2 == 0) for rank in range(RANKS)]
    record = Record(
        phase=Phase.ASSEMBLING,
        phase_at=NOW - 60,
        started_at=NOW - 90,
        epoch_at=NOW - 90,
        assembling_at=NOW - 60,
        size=RANKS,
        ready=RANKS,
        roll=RollCall(RANKS, RANKS - len(absent), tuple(sorted(absent))),
    )
    return Subject(plan, record, seen(pods, roll(RANKS, NOW, absent=absent)))


def run() -> list[Result]:
    """Answer as the server does, without the socket."""
    subject = large()
    pages = Pages(Index([subject]), lambda: "leading", lambda: NOW, "https://example.org/runbooks")
    html = ""

    def answer() -> None:
        nonlocal html
        _, html = pages.experiment(Anyone(), subject, {})

    return [
        Result("page of 10,000 ranks, CPU of the server", best_of(answer, ANSWERS, ROUNDS) / 1e6, "s", BUDGET),
        Result("of 10,000 ranks not drawn", RANKS - html.count('role="cell"'), "ranks", 0),
        Result("HTML of that page", len(html.encode()) / 1e6, "MB", LARGEST),
    ]
