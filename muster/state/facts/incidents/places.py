"""Where nodes are: the rack, the pool and the zone that their labels name, and how many nodes each has."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from typing import NamedTuple

from muster.state.facts.incidents.subjects import LABELS


class Place(NamedTuple):
    """What nodes share: ``kind`` is a key of ``LABELS``."""

    kind: str
    name: str


def places_of(labels: Mapping[str, str]) -> Iterator[Place]:
    """The places that the labels of a node name."""
    for kind, names in LABELS.items():
        if value := next((labels[name] for name in names if labels.get(name)), ""):
            yield Place(kind, value)


class Places:
    """The places of all nodes that are known. It is kept up to date node by node: 100,000 are never walked."""

    def __init__(self, labels: Mapping[str, Mapping[str, str]] | None = None) -> None:
        """``labels`` are those of each node, by its name."""
        self.sizes: Counter[Place] = Counter()
        """How many nodes each has."""
        self._of: dict[str, tuple[Place, ...]] = {}
        self.held: Mapping[str, tuple[Place, ...]] = {}
        for node, each in (labels or {}).items():
            self.put(node, places_of(each))

    def __len__(self) -> int:
        """How many nodes are known."""
        return len(self._of)

    def of(self, node: str) -> tuple[Place, ...]:
        """The places of a node; none of one that is not known."""
        return self.held.get(node) or self._of.get(node, ())

    def holding(self, held: Mapping[str, tuple[Place, ...]]) -> "Places":
        """Return the same places, in which each node of ``held`` has those that it has there."""
        found = copy(self)  # it shares what is known of the nodes
        found.held = held
        return found

    def put(self, node: str, places: Iterable[Place]) -> None:
        """A node has these places from now on."""
        self.drop(node)
        self._of[node] = tuple(places)
        self.sizes.update(self._of[node])

    def drop(self, node: str) -> None:
        """A node is gone, or not known any more."""
        for place in self._of.pop(node, ()):
            self.sizes[place] -= 1
            if not self.sizes[place]:
                del self.sizes[place]
