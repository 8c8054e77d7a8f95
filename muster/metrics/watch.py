"""The watches, read at scrape: whether the daemon's picture of the cluster is complete and fresh."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from muster.metrics.closed_sets import RECONNECTS
from muster.metrics.exposition import Families, label
from muster.metrics.rows import daemon as rows

_ROWS = (
    rows.WATCH_STALENESS,
    rows.WATCH_SYNCED,
    rows.WATCH_RECONNECTS,
    rows.WATCH_RELISTS,
    rows.WATCH_EVENTS,
    rows.WATCH_DECODE_ERRORS,
    rows.FOREIGN_PODS,
)


class WatchStats(Protocol):
    """The state of a reflector's watch. Counts only grow."""

    @property
    def synced(self) -> bool:
        """Whether the first full list is in the cache."""

    @property
    def reconnects(self) -> Mapping[str, int]:
        """How often the watch was opened again, by reason (a small closed set)."""

    @property
    def relists(self) -> int:
        """How many full lists were taken after the first."""

    @property
    def events(self) -> Mapping[str, int]:
        """How many events were received, by type."""

    @property
    def decode_errors(self) -> int:
        """How many objects could not be read."""

    def staleness(self, now: float) -> float:
        """Seconds since the server was last heard, on the reflector's own clock."""


class WatchCollector(Collector):
    """``reflectors`` yields each watch's resource and figures; ``clock`` is the reflectors' own.

    ``foreign_pods`` counts the pods that are ignored, by reason.
    """

    def __init__(
        self,
        reflectors: Callable[[], Iterable[tuple[str, WatchStats]]],
        clock: Callable[[], float],
        foreign_pods: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        self._reflectors = reflectors
        self._clock = clock
        self._foreign_pods = foreign_pods

    def collect(self) -> Iterable[Family]:
        """One set of series per resource: the stalest watch, synced when all are, and the sum of their counts."""
        now = self._clock()
        by_resource: dict[str, list[WatchStats]] = {}
        for resource, stats in self._reflectors():
            by_resource.setdefault(label(resource), []).append(stats)
        families = Families(_ROWS)
        for resource, watches in by_resource.items():
            one = {"resource": resource}
            families.add(rows.WATCH_STALENESS, one, max(watch.staleness(now) for watch in watches))
            families.add(rows.WATCH_SYNCED, one, float(all(watch.synced for watch in watches)))
            families.add(rows.WATCH_RELISTS, one, sum(watch.relists for watch in watches))
            families.add(rows.WATCH_DECODE_ERRORS, one, sum(watch.decode_errors for watch in watches))
            reconnects = dict.fromkeys(RECONNECTS, 0) | _sum(watch.reconnects for watch in watches)
            for reason, count in reconnects.items():
                families.add(rows.WATCH_RECONNECTS, {**one, "reason": reason}, count)
            for kind, count in _sum(watch.events for watch in watches).items():
                families.add(rows.WATCH_EVENTS, {**one, "type": kind}, count)
        for reason, pods in self._foreign_pods().items():
            families.add(rows.FOREIGN_PODS, {"reason": label(reason)}, pods)
        return families.collected()


def _sum(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for one in counts:
        for word, count in one.items():
            total[label(word)] += count
    return total
