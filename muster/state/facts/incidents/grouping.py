"""Signs grouped: which runs share a subject, and for which subject each run counts.

A run counts for one subject: that which explains most. A cause is no part of it: a node that dies shows as
``NodeNotReady``, then ``NodeLost``, and is one subject. What a subject explains is counted in runs, and for nodes in
nodes of runs: three gangs of which each has lost twenty nodes have lost a rack, and not its first node. Nodes have more
than one reading:

- a *node*, where it holds all members of a run that have the cause;
- a *rack*, *pool* or *zone*, by the labels of nodes where they are known: at least half of the nodes with that label,
  and three, are in trouble; or nearly all nodes that failed together are of at most ``MOST_PLACES`` of them, which
  chance does not bring about. A few nodes of many are no rack;
- *nodes*: at least three that failed within ``TOGETHER`` seconds of each other, where no label covers them.

A tenant decides what its own pods answer, and often where they run. So nodes are a reason only where runs of two
namespaces say so, or where Kubernetes says it of the node itself (``OF_NODE``).
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from typing import Final, NamedTuple

from muster.state.facts.causes.table import Causes
from muster.state.facts.incidents.places import Place, Places
from muster.state.facts.incidents.signs import Run, Sign
from muster.state.facts.incidents.subjects import LABELS, NODE, NODES

RUNS: Final = 3
"""Runs that an incident has at least."""
TOGETHER: Final = 120.0
"""Seconds: nodes whose failures follow each other within it failed together."""
LEAST_NODES: Final = 3
"""Nodes that share a label, or a moment."""
MOST_PLACES: Final = 3
"""Places that nodes which failed together are named by."""
COVERED: Final = 0.75
"""The share of these nodes that the places must cover."""
CHANCE: Final = 0.01
"""The odds below which nodes of one place did not fail together by chance."""
WIDTHS: Final[Mapping[str, float]] = {"rack": 1.2, NODES: 1.3, "pool": 1.4, "zone": 1.6}
"""How many times as much a wider subject must explain as a narrower one."""
STEADY: Final = 1.6
"""How many times as much a group counts while it is an incident: its name does not change with each run."""

OF_NODE: Final = frozenset({Causes.NODE_NOT_READY.value, Causes.NODE_LOST.value, Causes.UNKNOWN.value})
"""Causes that the node's own condition, or the control plane, says."""
OF_NODES: Final = frozenset({NODE, NODES, *LABELS})
"""Kinds that are one node or several."""


class Key(NamedTuple):
    """What runs share. The subject of ``NODES`` is the moment, which is matched by runs (``incidents.tracking``)."""

    kind: str
    subject: str


Groups = dict[Key, dict[Run, list[Sign]]]


def groups(signs: Iterable[Sign], places: Places, believed: Collection[Key] = ()) -> Groups:
    """Every reading of the signs, whatever its size. ``believed`` are subjects that need no second namespace."""
    found: dict[tuple[str, str], dict[Run, list[Sign]]] = defaultdict(lambda: defaultdict(list))
    on_nodes: list[Sign] = []
    for sign in signs:
        found[(sign.kind, sign.subject)][sign.run].append(sign)
        if sign.node:
            on_nodes.append(sign)
    for place, some in _places(on_nodes, places):
        runs = found[place]
        for sign in some:
            runs[sign.run].append(sign)
    named = ((Key(*key), runs) for key, runs in found.items())
    return {key: runs for key, runs in named if key in believed or _believed(key, runs)}


def _believed(key: Key, runs: Mapping[Run, list[Sign]]) -> bool:
    if key.kind not in OF_NODES:
        return True
    first = next(iter(runs)).namespace
    return any(run.namespace != first or any(s.cause in OF_NODE for s in some) for run, some in runs.items())


def _places(signs: list[Sign], places: Places) -> Iterator[tuple[Place, list[Sign]]]:
    """Each place with the signs on its nodes: those of which half is in trouble, and those of a moment."""
    by_place = _by_place(signs, places)
    dense = {place for place, some in by_place.items() if _half(place, some, places)}
    named = set(dense)
    for moment in _moments(signs):
        covering = _covering(moment, places, dense)
        named |= covering
        if not covering:
            yield Place(NODES, f"{min(each.subject for each in moment)} and others"), moment
    for place in sorted(named):
        yield place, by_place[place]


def _by_place(signs: Iterable[Sign], places: Places) -> dict[Place, list[Sign]]:
    found: dict[Place, list[Sign]] = defaultdict(list)
    for sign in signs:
        for place in places.of(sign.subject):
            found[place].append(sign)
    return found


def _half(place: Place, signs: list[Sign], places: Places) -> bool:
    bad, size = len({sign.subject for sign in signs}), places.sizes[place]
    return bad >= LEAST_NODES and 2 * bad >= size and size < len(places)


def _covering(moment: list[Sign], places: Places, dense: Collection[Place]) -> set[Place]:
    """The narrowest places, at most ``MOST_PLACES``, that nearly all nodes of the moment are of."""
    nodes = {sign.subject for sign in moment}
    for kind in LABELS:
        counts = Counter(place for node in nodes for place in places.of(node) if place.kind == kind)
        found = {
            place: bad
            for place, bad in counts.items()
            if place in dense or (bad >= LEAST_NODES and (places.sizes[place] / len(places)) ** (bad - 1) <= CHANCE)
        }
        if found and len(found) <= MOST_PLACES and sum(found.values()) >= COVERED * len(nodes):
            return set(found)
    return set()


def _moments(signs: list[Sign]) -> Iterator[list[Sign]]:
    some: list[Sign] = []
    for sign in (*sorted(signs, key=lambda each: each.since), None):
        if sign is None or (some and sign.since - some[-1].since > TOGETHER):
            if len({each.subject for each in some}) >= LEAST_NODES:
                yield some
            some = []
        if sign is not None:
            some.append(sign)


def assigned(found: Groups, active: Collection[Key]) -> Generator[None, None, Groups]:
    """Each run in one group, in two steps: that which explains most comes first.

    A group of an incident that is ``active`` is preferred, and goes on with fewer runs.
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
    """Of each chosen place the others of its kind under the same runs, such as a second rack, whose signs it gets."""
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
    """What one run adds: its nodes, or one."""
    return 1 if len(signs) == 1 else len({sign.subject for sign in signs if sign.node}) or 1


def _weight(key: Key, size: int, active: bool) -> float:
    return size * (STEADY if active else 1.0) / WIDTHS.get(key.kind, 1.0)
