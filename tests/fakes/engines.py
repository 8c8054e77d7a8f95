"""A native engine on an API server in memory."""

from dataclasses import dataclass

from muster.kube.fair_share import ALONE, FairShare
from muster.reconcilers.native.engine import NativeEngine
from muster.reconcilers.result import Outcome
from tests.fakes.api import FakeApi


@dataclass
class Bench:
    """``now`` is the wall clock; it does not advance by itself. A namespace has ``concurrency`` requests at most."""

    concurrency: int = 32
    now: float = 1_000_000.0

    def __post_init__(self) -> None:
        self.api = FakeApi(clock=lambda: self.now)
        self.engine = NativeEngine(
            self.api,
            creates=FairShare(ALONE * self.concurrency),
            others=FairShare(ALONE * self.concurrency),
            clock=lambda: self.now,
        )


def finished(outcome: Outcome) -> Outcome:
    """The outcome of a finished action; raises its error if it has one, as the daemon does."""
    if outcome.error is not None:
        raise outcome.error
    return outcome
