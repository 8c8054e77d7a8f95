"""Signs grouped: which runs share a cause and a subject, and for which subject each run counts.

A run counts for one subject: that which explains most runs. Nodes have more than one reading:

- a *node*, where it holds all members of a run that have the cause;
- a *rack*, *pool* or *zone*, by the labels of nodes where they are known: at least half of the nodes with that label,
  and three, are in trouble. Nodes that are a few of many are no rack;
- *nodes*: at least three that failed within ``TOGETHER`` seconds of each other, for clusters whose labels Muster
  may not read.

A tenant decides what its own pods answer, and often where they run. So nodes are a reason only where runs of two
namespaces say so, or where Kubernetes says it of the node itself (``OF_NODE``).
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
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
WIDTHS: Final[Mapping[str, float]] = {"rack": 1.2, NODES: 1.3, "pool": 1.4, "zone": 1.6}
"""How many times as many runs a wider subject must explain as a narrower one."""

OF_NODE: Final = frozenset({Causes.NODE_NOT_READY.value, Causes.NODE_LOST.value, Causes.UNKNOWN.value})
"""Causes that the node's own condition, or the control plane, says."""
_OF_NODES: Final = frozenset({NODE, NODES, *LABELS})


class Key(NamedTuple):
    """What runs share. The subject of ``NODES`` is the moment, which is matched by runs (``incidents.tracking``)."""

    cause: str
    kind: str
    subject: str


Groups = dict[Key, dict[Run, Sign]]


def groups(signs: Iterable[Sign], places: Places) -> Groups:
    """Every reading of the signs, whatever its size."""
    found: Groups = defaultdict(dict)
    on_nodes: dict[str, list[Sign]] = defaultdict(list)
    for sign in signs:
        found[Key(sign.cause, sign.kind, sign.subject)].setdefault(sign.run, sign)
        if sign.node:
            on_nodes[sign.cause].append(sign)
    for cause, here in on_nodes.items():
        for kind, subject, some in (*_shared(here, places), *_moments(here)):
            for sign in some:
                found[Key(cause, kind, subject)].setdefault(sign.run, sign)
    return {key: runs for key, runs in found.items() if _believed(key, runs)}


def _believed(key: Key, runs: Mapping[Run, Sign]) -> bool:
    if key.kind not in _OF_NODES or key.cause in OF_NODE:
        return True
    first = next(iter(runs)).namespace
    return any(run.namespace != first for run in runs)


def _shared(signs: list[Sign], places: Places) -> Iterator[tuple[str, str, list[Sign]]]:
    by_place: dict[Place, list[Sign]] = defaultdict(list)
    for sign in signs:
        for place in places.of(sign.subject):
            by_place[place].append(sign)
    for place, some in by_place.items():
        bad, size = len({sign.subject for sign in some}), places.sizes[place]
        if bad >= LEAST_NODES and 2 * bad >= size and size < len(places):
            yield place.kind, place.name, some


def _moments(signs: list[Sign]) -> Iterator[tuple[str, str, list[Sign]]]:
    some: list[Sign] = []
    for sign in (*sorted(signs, key=lambda each: each.since), None):
        if sign is None or (some and sign.since - some[-1].since > TOGETHER):
            nodes = Counter(each.subject for each in some)
            if len(nodes) >= LEAST_NODES:
                yield NODES, f"{min(nodes)} and others", some
            some = []
        if sign is not None:
            some.append(sign)


def assigned(found: Groups, active: Collection[Key]) -> Groups:
    """Each run in one group: that which explains most runs comes first.

    A group of an incident that is ``active`` is preferred, and goes on with fewer runs.
    """
    left = {key: dict(runs) for key, runs in found.items()}
    of_run: dict[Run, list[Key]] = defaultdict(list)
    for key, runs in left.items():
        for run in runs:
            of_run[run].append(key)
    order = {key: -place for place, key in enumerate(sorted(left))}
    waiting = [(-_weight(key, runs, key in active), order[key], key) for key, runs in left.items()]
    heapify(waiting)
    chosen: Groups = {}
    while waiting:
        weight, place, best = heappop(waiting)
        runs = left[best]
        if not runs or (len(runs) < RUNS and best not in active):
            continue
        if (now := -_weight(best, runs, best in active)) != weight:  # others have taken runs of it
            heappush(waiting, (now, place, best))
            continue
        chosen[best] = left.pop(best)
        for run in chosen[best]:
            for key in of_run[run]:
                if key in left:
                    left[key].pop(run, None)
    return chosen


def _weight(key: Key, runs: Mapping[Run, Sign], active: bool) -> float:
    return len(runs) * (1.5 if active else 1.0) / WIDTHS.get(key.kind, 1.0)
