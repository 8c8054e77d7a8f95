"""A native engine at a server in memory, and a book of what it observed."""

from dataclasses import dataclass, field

from reconcilers.native.engine import NativeEngine
from tests.fakes.api import FakeApi


@dataclass
class Bench:
    """``observed`` holds (verb, resource, outcome); ``now`` is the wall clock, and stands still."""

    concurrency: int = 32
    now: float = 1_000_000.0
    observed: list[tuple[str, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.api = FakeApi(clock=lambda: self.now)
        self.engine = NativeEngine(
            self.api,
            concurrency=self.concurrency,
            observe=lambda verb, resource, outcome, seconds: self.observed.append((verb, resource, outcome)),
            clock=lambda: self.now,
        )
