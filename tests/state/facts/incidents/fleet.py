"""Signs of runs on nodes, and looks at them."""

from collections.abc import Collection, Iterable, Mapping

from muster.state.facts.incidents.grouping import Places
from muster.state.facts.incidents.incident import Incident
from muster.state.facts.incidents.signs import Run, Sign
from muster.state.facts.incidents.tracking import Tracking, following
from muster.state.view.turns import finished

GPUS = (("nvidia.com/gpu", 8),)
T = 1_000_000.0
RACK, ZONE = "topology.kubernetes.io/rack", "topology.kubernetes.io/zone"
RACKS = {f"n{n}": {RACK: f"r{n // 20}", ZONE: f"z{n // 60}"} for n in range(240)}
"""Twelve racks of twenty nodes, in four zones."""


def gangs(
    nodes: Iterable[int], count: int = 3, *, cause: str = "NodeNotReady", since: float = T, ranks: int = 1
) -> list[Sign]:
    """Gangs of as many namespaces, each with ranks on each of these nodes."""
    some = list(nodes)
    return [
        Sign(Run(f"team-{gang}", "run"), cause, "node", f"n{n}", ranks, since, GPUS, node=True)
        for gang in range(count)
        for n in some
    ]


def after(cause: str, count: int = 3, kind: str = "", subject: str = "") -> list[Sign]:
    """The same gangs, once they show nothing of nodes."""
    return [Sign(Run(f"team-{gang}", "run"), cause, kind, subject, 4, T, GPUS) for gang in range(count)]


def follow(
    before: Tracking,
    signs: Iterable[Sign],
    now: float,
    places: Places | None = None,
    in_use: Collection[tuple[str, str]] = (),
) -> Tracking:
    """The incidents after a look, without a pause."""
    return finished(following(before, list(signs), now, Places() if places is None else places, in_use))


class Looks:
    """Looks every five seconds."""

    def __init__(self, labels: Mapping[str, Mapping[str, str]] | None = None) -> None:
        self.now, self.tracking, self.places = T, Tracking(), Places(labels)
        self.names: list[str] = []
        """What was shown, each time that it was another one."""

    def at(
        self, signs: list[Sign], seconds: float = 5.0, in_use: Iterable[tuple[str, str]] = ()
    ) -> tuple[Incident, ...]:
        """What is shown after these signs have been seen for as long."""
        for _ in range(int(seconds / 5)):
            self.now += 5
            self.tracking = follow(self.tracking, signs, self.now, self.places, frozenset(in_use))
            names = " | ".join(f"{each.key.kind} {each.key.subject}" for each in self.tracking.shown)
            if names != (self.names[-1] if self.names else ""):
                self.names.append(names)
        return self.tracking.shown
