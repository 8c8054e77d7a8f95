"""The fleet: 500 nodes of 25 racks, 400 runs of 20 namespaces, and what happens to them independently of each other.

Nothing of this is an incident: an autoscaler that takes and brings nodes, a cluster that is full for minutes, typos in
images and Secrets, programs that crash again and again, gangs that hang, single nodes that die. Two of a hundred nodes
are bad: what runs there fails now and then of one of several things. That a bad node is named is right.
"""

from collections.abc import Callable, Iterator
from random import Random
from typing import Final, NamedTuple

from muster.state.facts.incidents.grouping import Places
from muster.state.facts.incidents.signs import Sign
from tests.fleet_hours import messages as say
from tests.fleet_hours.shown import FleetRun

NODES: Final = 500
RACK: Final = 20
RUNS: Final = 400
NAMESPACES: Final = 20
REGISTRIES: Final = ("registry.example", "ghcr.io", "harbor.example", "quay.example", "")
STORAGES: Final = ("", "", "fast", "shared-fs", "scratch")
HOUR: Final = 3600.0
LABELS: Final = {
    f"n{n}": {
        "topology.kubernetes.io/rack": f"r{n // RACK}",
        "karpenter.sh/nodepool": f"p{n // 100}",
        "topology.kubernetes.io/zone": f"z{n % 3}",
    }
    for n in range(NODES)
}


class Trouble(NamedTuple):
    """Signs that a run shows until then."""

    until: float
    signs: tuple[Sign, ...]


Shows = Callable[[FleetRun, float], tuple[Sign, ...]]


class Fleet:
    """Runs that come and go: a run that was in trouble is followed by another one of its namespace."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.bad = frozenset(f"n{n}" for n in self.random.sample(range(NODES), NODES // 50))
        self.number = 0
        self.runs = [self.begin() for _ in range(RUNS)]
        self.troubles: dict[int, Trouble] = {}
        """By the place of the run."""

    def begin(self, nodes: tuple[str, ...] = ()) -> FleetRun:
        """Another run."""
        draw, self.number = self.random, self.number + 1
        size = draw.choice((1, 1, 1, 2, 4, 8))
        first = draw.randrange(NODES)
        host = draw.choice(REGISTRIES)
        image = f"{host}/team/train-{draw.randrange(60)}:1".removeprefix("/")
        where = nodes or tuple(f"n{(first + n) % NODES}" for n in range(size))
        return FleetRun(self.number, f"team-{self.number % NAMESPACES}", where, image, draw.choice(STORAGES))

    def step(self, now: float, seconds: float) -> None:
        """What happens in so many seconds."""
        self.troubles = {place: one for place, one in self.troubles.items() if one.until > now}
        share = seconds / HOUR
        for place, run in enumerate(self.runs):
            if place in self.troubles:
                continue
            if self.random.random() < share / 40:
                self.put(place, now, self._own(run))
            elif not self.bad.isdisjoint(run.nodes) and self.random.random() < share / 4:
                self.put(place, now, self._of_bad_node(run))
        if self.random.random() < NODES / 1000 * share:
            self._dies(now, f"n{self.random.randrange(NODES)}")
        if self.random.random() < share / 3:
            self._is_full(now)
        if self.random.random() < 2 * share:
            self._is_taken(now, f"n{self.random.randrange(NODES)}")

    def put(self, place: int, now: float, shows: Shows, lasts: float | None = None) -> None:
        """That run shows this from now on."""
        run = self.runs[place] = self.begin(self.runs[place].nodes)
        until = now + (lasts if lasts is not None else max(30.0, self.random.expovariate(1 / 1200)))
        self.troubles[place] = Trouble(until, shows(run, now))

    def signs(self) -> Iterator[Sign]:
        """Those of all runs."""
        for trouble in self.troubles.values():
            yield from trouble.signs

    def _own(self, run: FleetRun) -> Shows:
        """A trouble of the run's own."""
        draw = self.random
        host = run.image.partition("/")[0]
        why = draw.choice((say.NOT_FOUND, say.NOT_FOUND, say.ANONYMOUS, say.NO_REPOSITORY, say.DENIED, say.EXPIRED))
        name = f"run-{draw.randrange(10**6)}"
        crash = say.exited(draw.choice((1, 1, 1, 139, 137)), "RuntimeError: CUDA error: an illegal memory access")
        code = f"{draw.randrange(10**6)}"
        rows: tuple[tuple[int, Shows], ...] = (
            (6, lambda run, now: run.pulls(now, why.format(image=f"{run.image}-{code}", host=host))),
            (1, lambda run, now: run.pulls(now, say.SILENT.format(image=run.image, host=host))),
            (3, lambda run, now: run.waits(now, "CreateContainerConfigError", f'secret "{name}" not found')),
            (2, lambda run, now: run.no_sandbox(now, "FailedMount", say.NO_SECRET.format(name=name))),
            (1, lambda run, now: run.no_sandbox(now, "FailedMount", say.TOO_SLOW)),
            (1, lambda run, now: run.waits(now, "CreateContainerError", 'exec: "trian.py": not found in $PATH', 1)),
            (8, lambda run, now: run.fails(now, crash, node=draw.choice(run.nodes), times=draw.choice((1, 2, 4)))),
            (1, lambda run, now: run.fails(now, say.start_error(draw.choice((say.UNMET, say.FORGED))))),
            (1, lambda run, now: run.evicted(now, say.OWN_LIMIT)),
            (3, lambda run, now: run.hangs(now, draw.choice((None, 0, len(run.nodes) - 1)))),
        )
        return draw.choices([row for _, row in rows], [weight for weight, _ in rows])[0]

    def _of_bad_node(self, run: FleetRun) -> Shows:
        node = next(each for each in run.nodes if each in self.bad)
        rank, draw = run.nodes.index(node), self.random
        plugin = say.SANDBOX.format(plugin="calico", why=say.NO_ADDRESS)
        rows: tuple[Shows, ...] = (
            lambda run, now: run.fails(now, say.start_error(say.GPU_LOST), node=node),
            lambda run, now: run.fails(now, say.exited(134, "CUDA error: uncorrectable ECC error"), node=node, times=2),
            lambda run, now: run.hangs(now, rank),
            lambda run, now: run.evicted(now, say.LOW, rank),
            lambda run, now: run.no_sandbox(now, "FailedCreatePodSandBox", plugin, rank),
        )
        return draw.choice(rows)

    def _dies(self, now: float, node: str) -> None:
        """A node dies alone, with at most two runs of it."""
        for place in [place for place, run in enumerate(self.runs) if node in run.nodes][:2]:
            self.put(place, now, lambda run, now: run.away(now, node))

    def _is_taken(self, now: float, node: str) -> None:
        """An autoscaler takes a node: its runs are evicted, and some of them wait for another one."""
        for place in [place for place, run in enumerate(self.runs) if node in run.nodes]:
            waits = self.random.random() < 0.5
            shows: Shows = (lambda run, now: run.unplaced(now, say.FULL)) if waits else FleetRun.drained
            self.put(place, now, shows, self.random.uniform(30, 300))

    def _is_full(self, now: float) -> None:
        """The cluster is full, or an autoscaler is at work: runs of several namespaces wait for nodes."""
        for place in self.random.sample(range(RUNS), self.random.randrange(3, 12)):
            self.put(place, now, lambda run, now: run.unplaced(now, say.FULL), self.random.uniform(60, 900))


PLACES: Final = Places(LABELS)
WELL: Final = frozenset({("device", "nvidia.com/gpu"), *(("storage class", name) for name in STORAGES if name)})
"""What runs that are well use at any time."""
