"""The places of nodes: the rack, the pool and the zone that their labels name, and the number of nodes in each."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from typing import NamedTuple

from muster.state.facts.incidents.subjects import LABELS


class Place(NamedTuple):
    """A place that nodes share: ``kind`` is a key of ``LABELS``."""

    kind: str
    name: str


def places_of(labels: Mapping[str, str]) -> Iterator[Place]:
    """Yield the places that the labels of a node name."""
    for kind, names in LABELS.items():
        if value := next((labels[name] for name in names if labels.get(name)), ""):
            yield Place(kind, value)


class Places:
    """The places of all known nodes, kept up to date node by node: 100,000 are never walked."""

    def __init__(self, labels: Mapping[str, Mapping[str, str]] | None = None) -> None:
        """Start with the ``labels`` of each node, by its name."""
        self.sizes: Counter[Place] = Counter()
        """The number of nodes in each place."""
        self._of: dict[str, tuple[Place, ...]] = {}
        self.held: Mapping[str, tuple[Place, ...]] = {}
        for node, each in (labels or {}).items():
            self.put(node, places_of(each))

    def __len__(self) -> int:
        """Return the number of known nodes."""
        return len(self._of)

    def of(self, node: str) -> tuple[Place, ...]:
        """Return the places of a node; none for an unknown one."""
        return self.held.get(node) or self._of.get(node, ())

    def holding(self, held: Mapping[str, tuple[Place, ...]]) -> "Places":
        """Return the same places, in which each node of ``held`` has those of ``held``."""
        found = copy(self)  # it shares the places of the other nodes
        found.held = held
        return found

    def put(self, node: str, places: Iterable[Place]) -> None:
        """Set the places of a node."""
        self.drop(node)
        self._of[node] = tuple(places)
        self.sizes.update(self._of[node])

    def drop(self, node: str) -> None:
        """Remove a node that is gone, or no longer known."""
        for place in self._of.pop(node, ()):
            self.sizes[place] -= 1
            if not self.sizes[place]:
                del self.sizes[place]
