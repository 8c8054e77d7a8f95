"""Groups of signs: the runs that share a subject, and the one subject for which each run counts.

A run counts for the subject that explains most. The cause is no part of the subject: a node that dies shows as
``NodeNotReady``, then ``NodeLost``, and is one subject. The size of a subject is counted in runs, and for nodes in
nodes of runs: three gangs that have each lost twenty nodes have lost a rack, and not its first node. Nodes have more
than one reading:

- a *node*, if it holds all members of a run that have the cause;
- a *rack*, *pool* or *zone*, by the labels of nodes if they are known: at least half of the nodes with that label, and
  three, are in trouble; or nearly all nodes that failed together are of at most ``MOST_PLACES`` of them, which chance
  does not cause. A few nodes of many are no rack;
- *nodes*: at least three that failed within ``TOGETHER`` seconds of each other, if no label covers them.

Whether the runs of a group are enough to name its subject is a rule of its own (``belief``).
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from copy import copy
from heapq import heapify, heappop, heappush
from typing import Final, NamedTuple

from muster.state.facts.incidents.belief import believed as enough
from muster.state.facts.incidents.signs import Run, Sign, bursts
from muster.state.facts.incidents.subjects import FAULTS, KINDS, LABELS, NODES
from muster.state.vocabulary.record import StoryLine


class Key(NamedTuple):
    """A subject that runs share: also a place of nodes, of a kind in ``LABELS``.

    That of ``NODES`` is the moment, matched by runs (``incidents.tracking``).
    """

    kind: str
    subject: str


def places_of(labels: Mapping[str, str]) -> Iterator[Key]:
    """Yield the places that the labels of a node name."""
    for kind, names in LABELS.items():
        if value := next((labels[name] for name in names if labels.get(name)), ""):
            yield Key(kind, value)


class Places:
    """The places of all known nodes, kept up to date node by node: 100,000 are never walked."""

    def __init__(self, labels: Mapping[str, Mapping[str, str]] | None = None) -> None:
        """Start with the ``labels`` of each node, by its name."""
        self.sizes: Counter[Key] = Counter()
        """The number of nodes in each place."""
        self._of: dict[str, tuple[Key, ...]] = {}
        self.held: Mapping[str, tuple[Key, ...]] = {}
        for node, each in (labels or {}).items():
            self.put(node, places_of(each))

    def __len__(self) -> int:
        """Return the number of known nodes."""
        return len(self._of)

    def of(self, node: str) -> tuple[Key, ...]:
        """Return the places of a node; none for an unknown one."""
        return self.held.get(node) or self._of.get(node, ())

    def holding(self, held: Mapping[str, tuple[Key, ...]]) -> "Places":
        """Return the same places, in which each node of ``held`` has those of ``held``."""
        found = copy(self)  # it shares the places of the other nodes
        found.held = held
        return found

    def put(self, node: str, places: Iterable[Key]) -> None:
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


RUNS: Final = 3
"""The fewest runs of an incident."""
TOGETHER: Final = 120.0
"""Seconds: nodes whose failures follow each other within it failed together."""
LEAST_NODES: Final = 3
"""The fewest nodes that share a label, or a moment."""
MOST_PLACES: Final = 3
"""The most places by which nodes that failed together are named."""
COVERED: Final = 0.75
"""The share of these nodes that the places must cover."""
CHANCE: Final = 0.01
"""The odds below which nodes of one place did not fail together by chance."""
WIDTHS: Final[Mapping[str, float]] = {
    "rack": 1.2,
    **dict.fromkeys(("device driver", "network plugin", "volume driver", "file server"), 1.05),
    "storage class": 1.05,
    "registry": 1.25,
    NODES: 1.3,
    "pool": 1.4,
    "zone": 1.6,
}
"""Factors by which a wider subject must explain more than a narrower one."""
STEADY: Final = 1.6
"""The factor by which a group counts more while it is an incident: its name does not change with each run."""

Groups = dict[Key, dict[Run, list[Sign]]]


def groups(signs: Iterable[Sign], places: Places, believed: Collection[Key] = ()) -> Groups:
    """Return every reading of the signs, whatever its size. ``believed`` are subjects that need no second namespace."""
    found: Groups = defaultdict(lambda: defaultdict(list))
    on_nodes: list[Sign] = []
    for sign in signs:
        found[Key(sign.kind, sign.subject)][sign.run].append(sign)
        if sign.node:
            on_nodes.append(sign)
    for place, some in _places(on_nodes, places):
        runs = found[place]
        for sign in some:
            runs[sign.run].append(sign)
    return {key: runs for key, runs in found.items() if key in believed or enough(key, runs)}


def _places(signs: list[Sign], places: Places) -> Iterator[tuple[Key, list[Sign]]]:
    """Yield each place with the signs on its nodes: half of its nodes are in trouble, or its nodes failed together."""
    by_place = _by_place(signs, places)
    dense = {place for place, some in by_place.items() if _half(place, some, places)}
    named = set(dense)
    for moment, away in _moments(signs):
        covering = _covering(moment, places, dense)
        named |= covering
        if not covering and away:
            yield Key(NODES, f"{min(each.subject for each in moment)} and others"), moment
    for place in sorted(named):
        yield place, by_place[place]


def _by_place(signs: Iterable[Sign], places: Places) -> dict[Key, list[Sign]]:
    found: dict[Key, list[Sign]] = defaultdict(list)
    for sign in signs:
        for place in places.of(sign.subject):
            found[place].append(sign)
    return found


def _half(place: Key, signs: list[Sign], places: Places) -> bool:
    bad, size = len({sign.subject for sign in signs}), places.sizes[place]
    return bad >= LEAST_NODES and 2 * bad >= size and size < len(places)


def _covering(moment: list[Sign], places: Places, dense: Collection[Key]) -> set[Key]:
    """Return the narrowest places, at most ``MOST_PLACES``, that have nearly all nodes of the moment.

    Places that have most nodes of the fleet, such as two of three zones, prove nothing about them.
    """
    nodes = {sign.subject for sign in moment}
    for kind in LABELS:
        counts = Counter(place for node in nodes for place in places.of(node) if place.kind == kind)
        found = {
            place: bad
            for place, bad in counts.items()
            if place in dense or (bad >= LEAST_NODES and (places.sizes[place] / len(places)) ** (bad - 1) <= CHANCE)
        }
        size = sum(places.sizes[place] for place in found)
        if 0 < len(found) <= MOST_PLACES and sum(found.values()) >= COVERED * len(nodes) and 2 * size <= len(places):
            return set(found)
    return set()


def _moments(signs: list[Sign]) -> Iterator[tuple[list[Sign], bool]]:
    """Yield signs that follow each other: of nodes that are away (True), and of nodes that have a fault (False).

    Nodes that have a fault share a driver or a plugin, if anything, which has a name of its own.
    """
    for away in (True, False):
        alike = (sign for sign in signs if (sign.cause not in FAULTS) is away)
        for some in bursts(alike, TOGETHER):
            if len({sign.subject for sign in some}) >= LEAST_NODES:
                yield some, away


def assigned(found: Groups, active: Collection[Key]) -> Generator[None, None, Groups]:
    """Return the groups with each run in one of them, in two steps: the group that explains most comes first.

    A group of an ``active`` incident is preferred, and continues with fewer runs.
    """
    of_run: dict[Run, list[Key]] = defaultdict(list)
    sizes: dict[Key, int] = {}
    left = {key: len(runs) for key, runs in found.items()}
    for key, runs in found.items():
        for run in runs:
            of_run[run].append(key)
        sizes[key] = sum(map(_size, runs.values()))
    yield
    order = {key: -place for place, key in enumerate(sorted(found))}
    waiting = [(-_weight(key, size, key in active), order[key], key) for key, size in sizes.items()]
    heapify(waiting)
    chosen: Groups = {}
    while waiting:
        weight, place, best = heappop(waiting)
        if not left[best] or (left[best] < RUNS and best not in active):
            continue
        if (now := -_weight(best, sizes[best], best in active)) != weight:  # others have taken runs of it
            heappush(waiting, (now, place, best))
            continue
        chosen[best] = {run: signs for run, signs in found[best].items() if run in of_run}
        for run in chosen[best]:
            for key in of_run.pop(run):
                left[key] -= 1
                sizes[key] -= _size(found[key][run])
    return chosen


def beside(found: Groups, chosen: Groups) -> dict[Key, tuple[str, ...]]:
    """Return, for each chosen place, others of its kind with the same runs (a second rack); it gets their signs."""
    names: dict[Key, list[str]] = defaultdict(list)
    others = sorted(key for key in found if key.kind in LABELS and key not in chosen)
    home = {run: key for key, runs in chosen.items() if others and key.kind in LABELS for run in runs}
    for key in others:
        counts = Counter(home[run] for run in found[key] if run in home and home[run].kind == key.kind)
        for other in (other for other, runs in counts.items() if runs >= RUNS):
            names[other].append(key.subject)
            for run in found[key].keys() & chosen[other].keys():
                chosen[other][run] = chosen[other][run] + found[key][run]
    return {key: tuple(some) for key, some in names.items()}


def _size(signs: list[Sign]) -> int:
    """Return the size that one run adds: the number of its nodes, or one."""
    return 1 if len(signs) == 1 else len({sign.subject if sign.node else sign.where for sign in signs} - {""}) or 1


def _weight(key: Key, size: int, active: bool) -> float:
    return size * (STEADY if active else 1.0) / WIDTHS.get(key.kind, 1.0)


REASON: Final = "Incident"
_TOGETHER: Final = "that failed together"
"""The words in place of the name of several nodes, which is that of one of the nodes left."""
_BETWEEN: Final = "="


def announcement(key: Key) -> str:
    """Return ``part of an incident: node n7``: facts of the run itself, and none of other namespaces.

    The words hold nothing that differs between two daemons which see the same incident, or that changes while it lasts,
    such as its cause and how many runs there are: an Event that another leader has written is not written again
    (``render_event`` makes its name from its words).
    """
    return f"part of an incident: {key.kind} {_subject(key)}"


def line(key: Key, at: float, epoch: int) -> StoryLine:
    """Return the line of the story of a run that became a part of the incident at that time.

    The subject of the incident is a field of the Event, for programs (``announced``).
    """
    return StoryLine(at, epoch, REASON, announcement(key), warning=True, about=f"{key.kind}{_BETWEEN}{_subject(key)}")


def announced(about: str) -> Key | None:
    """Return the subject that an Event is about; None if it names none."""
    kind, _, subject = about.partition(_BETWEEN)
    return Key(kind, subject) if kind in KINDS and subject else None


def _subject(key: Key) -> str:
    return _TOGETHER if key.kind == NODES else key.subject
