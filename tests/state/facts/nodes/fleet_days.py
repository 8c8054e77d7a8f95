"""Days of a fleet whose programs fail by themselves, some of them often: no node is suspect because of that.

200 nodes. Ten bear ten times as much work, and one only that of four namespaces. 30 namespaces, whose programs
fail in one life of fifty, of twenty, of five or in two of three. Gangs have one to 64 nodes. A program that fails is
started again up to four times, often on the nodes where it was. A node in a thousand is lost each hour, with all on it.

    python -m tests.state.facts.nodes.fleet_days 100
"""

import sys
from collections.abc import Iterator
from random import Random

from muster.state.facts.nodes.history import PERIOD, Failure, History, shares_of
from muster.state.facts.nodes.suspects import Suspect, suspects

NODES, NAMESPACES = 200, 30
STEP = 600.0
BUSY = [*range(NODES), *(node for node in range(10) for _ in range(9))]
OF_FEW = NODES - 1
START = 40_000 * PERIOD


class Fleet:
    """``sick`` nodes fail each life that has a member there; ``rate`` is how many runs begin in a step."""

    def __init__(self, seed: int, sick: tuple[int, ...] = (), rate: int = 10) -> None:
        self.random, self.sick, self.rate = Random(seed), sick, rate
        self.history, self.now, self.number = History(), START, 0
        self.fails = [self.random.choice((0.02, 0.05, 0.2, 0.65)) for _ in range(NAMESPACES)]

    def play(self, hours: float) -> Iterator[tuple[Suspect, ...]]:
        """What is suspect at the end of each step."""
        for _ in range(int(hours * 3600 / STEP)):
            self.now += STEP
            for _ in range(self.rate):
                self._run(self.random.randrange(NAMESPACES), self._nodes())
            self._run(self.random.randrange(4), [OF_FEW], stays=True)
            if self.random.random() < NODES / 1000 * STEP / 3600:
                lost = self.random.randrange(NODES)
                for namespace in self.random.sample(range(NAMESPACES), 4):
                    self._fail(namespace, self._name(), lost, 0, "NodeLost", sure=True)
            yield suspects(self.history, self.now)

    def _nodes(self) -> list[int]:
        return [self.random.choice(BUSY[:-1]) for _ in range(self.random.choice((1, 1, 1, 2, 8, 64)))]

    def _run(self, namespace: int, nodes: list[int], *, stays: bool = False) -> None:
        name = self._name()
        for life in range(5):
            if self.random.random() < 0.5:
                nodes = nodes if stays else self._nodes()
            ill = [node for node in nodes if node in self.sick]
            fails = bool(ill) or self.random.random() < self.fails[namespace]
            culprit = ill[0] if ill else self.random.choice(nodes)
            again = fails and self._fail(namespace, name, culprit, life, "Error", sure=False)
            shares = shares_of(f"n{node}" for node in nodes)
            if again:
                shares.pop(f"n{culprit}")
            self.history.served(f"t{namespace}", shares, self.now)
            if not fails:
                return

    def _fail(self, namespace: int, run: str, node: int, life: int, cause: str, *, sure: bool) -> bool:
        at = int(self.now - self.random.random() * STEP)
        found = Failure(at, f"t{namespace}", run, f"{run}.{life}", cause, sure, at)
        self.history.failed(f"n{node}", found, self.now)
        return self.history.times(f"n{node}", f"t{namespace}", run) > 1

    def _name(self) -> str:
        self.number += 1
        return f"r{self.number}"


def false_suspects(days: int, seed: int) -> list[Suspect]:
    """Those of so many days, each of a fleet of its own."""
    return [each for day in range(days) for step in Fleet(seed + day, rate=2 + day % 3 * 6).play(24) for each in step]


if __name__ == "__main__":
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    seen = false_suspects(asked, 1)
    print(f"{asked} fleet-days, {len(seen)} times a node was suspect", *seen[:20], sep="\n")  # noqa: T201 - its result
    sys.exit(bool(seen))
