"""A native engine at a server in memory."""

from dataclasses import dataclass

from muster.reconcilers.native.engine import NativeEngine
from muster.reconcilers.result import Outcome
from tests.fakes.api import FakeApi


@dataclass
class Bench:
    """``now`` is the wall clock, and stands still."""

    concurrency: int = 32
    now: float = 1_000_000.0

    def __post_init__(self) -> None:
        self.api = FakeApi(clock=lambda: self.now)
        self.engine = NativeEngine(
            self.api,
            concurrency=self.concurrency,
            clock=lambda: self.now,
        )


def told(outcome: Outcome) -> Outcome:
    """The outcome of an action that was finished; else its error is raised, as the daemon does once it has noted the
    rest."""
    if outcome.error is not None:
        raise outcome.error
    return outcome
