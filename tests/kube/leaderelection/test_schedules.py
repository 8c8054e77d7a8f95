"""Two daemons under a thousand random schedules of faults: at most one may write, and in the end one does.

Every event of a history comes from its seed. Clocks start anywhere, run up to 3 % too fast or too slow, and wall clocks
are wrong. Processes are stopped, killed and started again, leave and come back; requests are refused, lost, applied
late or without an answer, for one daemon or for both; the server is slow; another client edits the Lease, or deletes
it.
"""

from collections.abc import Callable
from functools import partial
from itertools import count
from random import Random

import pytest
from structlog.testing import capture_logs

from tests.fakes.candidates import FAST, Candidate, touch, vanish
from tests.fakes.machines import WORK, Mode, World

HISTORIES = 1000
AT_EACH_CHANGE = 100
"""The seeds that each change plays; the others are slow."""
BATCH = 20
STORM = 8.0
"""Seconds of faults."""
CALM = 5.0
"""Seconds after which one daemon leads: the patience (2 s, as whole seconds are written) or the wait for a new Lease, a
few looks, slow clocks.
"""


class History:
    """One seed's history. Raises AssertionError at the first instant that breaks the rule."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.world = World(self.random, self.look)
        self.names = count()
        self.all: list[Candidate] = []
        self.now: list[Candidate] = [self.fresh(), self.fresh()]
        self.takeovers = 0
        self.faults: list[str] = []

    def run(self) -> None:
        """Play the storm, then the calm."""
        try:
            while self.world.now < STORM:
                self.world.run(self.random.expovariate(1.5))
                self.strike()
            for candidate in self.now:
                candidate.machine.stopped = False
                candidate.machine.cable.mode, candidate.machine.cable.latency = Mode.FINE, 0.005
            self.world.run(CALM)
            leaders = [candidate for candidate in self.now if candidate.leads]
            assert len(leaders) == 1, f"{len(leaders)} leaders in the end"
            self.world.run(1)
            assert [c for c in self.now if c.working] == leaders
            assert leaders[0].writes[-1] > self.world.now - 1
            self.takeovers = sum(c.elector.transitions["acquired"] for c in self.all)
        finally:
            self.world.close()

    def look(self) -> None:
        """Check the rule, at every instant."""
        may_write = [candidate.name for candidate in self.all if candidate.leads]
        assert len(may_write) <= 1, f"{may_write} may write at {self.world.now:.3f} s after {self.faults}"

    def fresh(self) -> Candidate:
        """Start a daemon."""
        clock = {"offset": self.random.uniform(0, 1e6), "rate": self.random.uniform(0.97, 1.03)}
        one = Candidate(self.world, f"d{next(self.names)}", FAST, **clock)
        one.wall_error = self.random.uniform(-1e5, 1e5)
        one.machine.cable.on_send = lambda method, path: self.sent(one, path)
        self.all.append(one)
        return one

    def sent(self, sender: Candidate, path: str) -> None:
        """Check a request of ``sender``: only a leader writes."""
        if path == WORK:
            assert sender.leads, f"{sender.name} wrote at {self.world.now:.3f} s and did not lead, after {self.faults}"

    def strike(self) -> None:
        """Make one fault, for a while."""
        which = self.random.randrange(2)
        one, cable = self.now[which], self.now[which].machine.cable
        back = self.random.choice((0.1, 0.5, 1.0, 2.0, 4.0))
        match self.random.randrange(8):
            case 0:
                one.machine.stopped = True
                self.later(back, "stopped", one, lambda: setattr(one.machine, "stopped", False))
            case 1 | 2:
                cable.mode = self.random.choice([mode for mode in Mode if mode is not Mode.FINE])
                self.later(back, cable.mode.name, one, lambda: setattr(cable, "mode", Mode.FINE))
            case 3:
                for other in self.now:
                    other.machine.cable.mode = Mode.LOST
                    self.later(back, "all lost", other, partial(setattr, other.machine.cable, "mode", Mode.FINE))
            case 4:
                cable.latency = self.random.choice((0.05, 0.2, 0.6))
                self.later(back, "slow", one, lambda: setattr(cable, "latency", 0.005))
            case 5 if self.random.random() < 0.3:
                self.faults.append(f"{self.world.now:.2f} deleted")
                vanish(self.world)
            case 5:
                self.faults.append(f"{self.world.now:.2f} {one.name} killed")
                one.machine.kill()
                self.now[which] = self.fresh()
            case 6 if not one.machine.stopped:
                self.faults.append(f"{self.world.now:.2f} {one.name} leaves")
                one.leave()
                self.now[which] = self.fresh()
            case _:
                self.faults.append(f"{self.world.now:.2f} edited")
                touch(self.world, leaseDurationSeconds=self.random.choice((1, 2)))

    def later(self, seconds: float, fault: str, one: Candidate, heal: Callable[[], None]) -> None:
        """Note the fault and plan its end."""
        self.faults.append(f"{self.world.now:.2f} {one.name} {fault} for {seconds}")
        self.world.after(seconds, heal)


FIRST = [
    pytest.param(first, marks=[pytest.mark.slow] if first >= AT_EACH_CHANGE else [])
    for first in range(0, HISTORIES, BATCH)
]


@pytest.mark.parametrize("first", FIRST)
def test_at_most_one_daemon_writes_and_in_the_end_one_leads(first: int) -> None:
    takeovers = 0
    for seed in range(first, first + BATCH):
        history = History(seed)
        try:
            with capture_logs():
                history.run()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        takeovers += history.takeovers
    assert takeovers > BATCH, "the histories are too quiet to prove anything"


def test_the_same_seed_gives_the_same_history() -> None:
    histories = []
    for _ in range(2):
        history = History(42)
        history.run()
        histories.append((history.faults, [candidate.machine.cable.sent for candidate in history.all]))
    assert histories[0] == histories[1]
