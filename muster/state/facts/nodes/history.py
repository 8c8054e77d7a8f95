"""The history of nodes: the runs that failed on each node, with their causes, and the work of each node meanwhile.

The history outlives runs: a run that is deleted leaves its failures. Every bound is here. ``DAYS`` days of failures are
kept, ``FAILURES`` runs that failed on a node, ``ALL_FAILURES`` on all, and ``NODES`` nodes. As many of these are stored
as ``MOST_BYTES`` hold. On a node the oldest failure is dropped first; among all nodes, the failures of the node whose
last one is the oldest. Nodes without a failure and with the least work are dropped first. Dropped failures are
counted (``dropped``).

Work borne is counted in *lives*: an epoch that ended counts 1, and so does each hour of one that continues, shared
out over the nodes of its members. It is kept by namespace, for each node and for all of them, for the present period of
``PERIOD`` seconds and the one before.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from muster.api.values.printable import WORD, clean

DAYS: Final = 7
NODES: Final = 2000
FAILURES: Final = 32
ALL_FAILURES: Final = 4000
NAMESPACES: Final = 32
"""Namespaces of one node whose work is kept."""
ALL_NAMESPACES: Final = 500
KEY: Final = "nodes.json"
"""The key of the ConfigMap that holds the history."""
MOST_BYTES: Final = 240_000
"""Bytes of the stored history: an object of the API server may have a little more than 1 MB."""
DAY: Final = 86_400
PERIOD: Final = DAY / 2
LATE: Final = 60.0
"""Seconds by which the clock of a node may be ahead."""
_LEAST: Final = 0.01
"""Lives below which the work of a namespace on a node is not stored."""
_MOST: Final = 10**6
"""The limit of any number that is read from the stored history."""


class Failure(msgspec.Struct, frozen=True, gc=False, array_like=True, order=True):
    """A run that failed on a node: the count, the first and the last time. All other fields are of the last time."""

    at: int
    """The last time, in wall seconds."""
    namespace: str
    run: str
    life: str
    """The life, and the object among those of that name: the beginning of its uid, and the epoch."""
    cause: str
    sure: bool
    """True if Kubernetes reports the failure of the node itself. Else the program may be the reason as well."""
    first: int
    times: int = 1
    """Lives of the run that failed on the node."""


def life_of(uid: str, epoch: int) -> str:
    """Return the name of one life of an object."""
    return f"{uid[:8]}.{epoch}"


Lives = dict[str, tuple[float, float]]
"""Lives by namespace, of the period before and of this one."""


class _Node(msgspec.Struct):
    """A node's failures in the order of their times, and its lives."""

    failures: list[Failure] = []
    lives: Lives = {}


class _Stored(msgspec.Struct, omit_defaults=True):
    period: int
    nodes: dict[str, _Node]
    lives: Lives = {}
    """The lives on all nodes."""
    dropped: int = 0


class History:
    """The history of all nodes. ``changed`` is set with each change, for the code that stores it."""

    def __init__(self) -> None:
        self.changed = False
        self.dropped = 0
        """Failures that were dropped to keep the bounds."""
        self._nodes: defaultdict[str, _Node] = defaultdict(_Node)
        self._lives: Lives = {}
        self._count = 0
        """Failures of all nodes."""
        self._period = 0

    def failed(self, node: str, failure: Failure, now: float) -> None:
        """Add the failure of a run on a node. A life that is Stuck and then ends has failed once: by its end."""
        self._turn(now)
        at = max(0, min(failure.at, int(now + LATE)))
        failure = replace(failure, at=at, first=max(0, min(failure.first, at)), times=max(1, min(failure.times, _MOST)))
        failures = self._nodes[node].failures
        before = self._of(node, failure.namespace, failure.run)
        joined = failure if before is None else _joined(before, failure)
        if joined == before:
            return
        if before is not None:
            failures.remove(before)
        failures.append(joined)
        failures.sort()
        lost = max(0, len(failures) - FAILURES)
        del failures[:lost]
        self.dropped += lost
        self._count += (before is None) - lost
        self._bound()
        self.changed = True

    def times(self, node: str, namespace: str, run: str) -> int:
        """Return how often that run failed on that node."""
        found = self._of(node, namespace, run) if node in self._nodes else None
        return 0 if found is None else found.times

    def served(self, namespace: str, shares: Mapping[str, float], now: float) -> None:
        """Add each node's share of one life that ended, or of an hour of one that continues, in that namespace."""
        self._turn(now)
        for node, share in shares.items():
            _add(self._nodes[node].lives, namespace, (0.0, share), NAMESPACES)
        _add(self._lives, namespace, (0.0, sum(shares.values())), ALL_NAMESPACES)
        self._bound()
        self.changed = self.changed or bool(shares)

    def failures(self) -> Mapping[str, list[Failure]]:
        """Return the failures of each node that has any, in the order of their times."""
        return {name: each.failures for name, each in self._nodes.items() if each.failures}

    def lives(self, node: str | None = None) -> Mapping[str, float]:
        """Return, by namespace, the lives since ``since`` on that node; on all nodes without one."""
        lives = self._lives if node is None else self._nodes[node].lives if node in self._nodes else {}
        return {namespace: sum(two) for namespace, two in lives.items()}

    @property
    def nodes(self) -> int:
        """Return the number of known nodes."""
        return len(self._nodes)

    def since(self, now: float) -> float:
        """Return the beginning of the period before the present one: 12 to 24 hours ago."""
        self._turn(now)
        return (self._period - 1) * PERIOD

    def stored(self) -> bytes:
        """Return as much of the history as ``MOST_BYTES`` hold, as JSON: nodes that matter least are left out."""
        kept: dict[str, _Node] = {}
        stored = _Stored(self._period, kept, _rounded(self._lives), self.dropped)
        room = MOST_BYTES - len(msgspec.json.encode(stored))
        for name, each in sorted(self._nodes.items(), key=_worth, reverse=True):
            node = _Node(each.failures, _rounded(each.lives))
            room -= len(msgspec.json.encode({name: node}))
            if room < 0:
                break
            if node.failures or node.lives:
                kept[name] = node
        return msgspec.json.encode(stored)

    def take_in(self, text: bytes, now: float) -> None:
        """Add the history that an earlier leader has stored. Raises ``ValueError`` if the text is no history."""
        try:
            stored = msgspec.json.decode(text, type=_Stored)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise ValueError(f"no history of nodes: {error}") from error
        self._turn(now)
        changed, self.dropped = self.changed, self.dropped + max(0, min(stored.dropped, _MOST))
        late = self._period - stored.period
        for name, node in stored.nodes.items():
            node_name = clean(name, WORD) or "-"
            for each in node.failures[-FAILURES:]:
                named = {field: clean(getattr(each, field)) for field in ("namespace", "run", "life", "cause")}
                if each.at > now - DAYS * DAY:
                    self.failed(node_name, replace(each, **named), now)
            _take(self._nodes[node_name].lives, node.lives, late, NAMESPACES)
        _take(self._lives, stored.lives, late, ALL_NAMESPACES)
        self._bound()
        self.changed = changed

    def _of(self, node: str, namespace: str, run: str) -> Failure | None:
        failures = self._nodes[node].failures
        return next((each for each in failures if each.namespace == namespace and each.run == run), None)

    def _turn(self, now: float) -> None:
        """Begin the period of ``now``, and forget failures and lives that are too old."""
        period = int(now // PERIOD)
        if period <= self._period:
            return
        late, self._period = period - self._period, period
        self._lives = _later(self._lives, late)
        for name, node in list(self._nodes.items()):
            node.lives = _later(node.lives, late)
            node.failures = [each for each in node.failures if each.at > now - DAYS * DAY]
            if not node.failures and not node.lives:
                del self._nodes[name]
        self._count = sum(len(node.failures) for node in self._nodes.values())

    def _bound(self) -> None:
        """Keep the bounds; a tenth goes at once, so that few calls have to sort."""
        if self._count > ALL_FAILURES:
            for _, node in sorted(self._nodes.items(), key=_worth):
                if self._count <= ALL_FAILURES * 9 // 10:
                    break
                self._forget(node)
        if len(self._nodes) > NODES:
            for name, node in sorted(self._nodes.items(), key=_worth)[: len(self._nodes) - NODES * 9 // 10]:
                self._forget(node)
                del self._nodes[name]

    def _forget(self, node: _Node) -> None:
        self.dropped += len(node.failures)
        self._count -= len(node.failures)
        node.failures = []


def _add(lives: Lives, namespace: str, more: tuple[float, float], most: int) -> None:
    if namespace in lives or len(lives) < most:
        before, this = lives.get(namespace, (0.0, 0.0))
        lives[namespace] = before + more[0], this + more[1]


def _take(lives: Lives, stored: Lives, late: int, most: int) -> None:
    """Add stored lives of the present period and of the one before, if their numbers can be true."""
    known = {clean(name): two for name, two in stored.items() if 0 <= two[0] <= _MOST and 0 <= two[1] <= _MOST}
    for namespace, two in (_later(known, late) if late else known).items():
        _add(lives, namespace, two, most)


def _later(lives: Lives, periods: int) -> Lives:
    return {namespace: (this, 0.0) for namespace, (_, this) in lives.items() if this} if periods == 1 else {}


def _joined(before: Failure, new: Failure) -> Failure:
    """Return two failures of one run as one row. Failures of the same life count as one."""
    return replace(
        max(new, before, key=lambda each: each.at),
        first=min(before.first, new.first),
        times=max(before.times, new.times) if before.life == new.life else before.times + new.times,
        sure=before.sure or new.sure,
    )


def _worth(one: tuple[str, _Node]) -> tuple[int, float]:
    node = one[1]
    return node.failures[-1].at if node.failures else 0, sum(map(sum, node.lives.values()))


def _rounded(lives: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    return {which: (round(a, 2), round(b, 2)) for which, (a, b) in lives.items() if a + b >= _LEAST}


def shares_of(nodes: Iterable[str]) -> dict[str, float]:
    """Return the share of a gang on each node, from the node of each member."""
    counts = Counter(filter(None, nodes))
    return {node: number / counts.total() for node, number in counts.items()}
