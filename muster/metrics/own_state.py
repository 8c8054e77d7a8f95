"""Metrics that the daemon reads of itself at scrape: its watches, its part in the election, and its missing rights.

The watches show whether its picture of the cluster is complete and fresh, the election who leads, how often that
changed, and how fresh the leader's claim is.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from muster.kube.leaderelection.elector import Elector
from muster.kube.listwatch.reflector import Reflector
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


class WatchCollector(Collector):
    """``reflectors`` yields each watch's resource and figures; ``clock`` is the reflectors' own.

    ``foreign_pods`` counts the pods that are ignored, by reason.
    """

    def __init__(
        self,
        reflectors: Callable[[], Iterable[tuple[str, Reflector[Any]]]],
        clock: Callable[[], float],
        foreign_pods: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        self._reflectors = reflectors
        self._clock = clock
        self._foreign_pods = foreign_pods

    def collect(self) -> Iterable[Family]:
        """Yield one set of series per resource: the stalest watch, synced when all are, and the sum of their counts."""
        now = self._clock()
        by_resource: dict[str, list[Reflector[Any]]] = {}
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


RequestKind = tuple[str, str]
"""A kind of request: its verb and its resource. There are as many as the daemon sends."""


class RightsCollector(Collector):
    """``denied`` gives the kinds of requests that the API server keeps denying now, each with its error text."""

    def __init__(self, denied: Callable[[], Iterable[tuple[RequestKind, str]]]) -> None:
        self._denied = denied
        self._met: dict[RequestKind, None] = {}

    def collect(self) -> Iterable[Family]:
        """Yield 1 for each kind that is denied, 0 for each that was."""
        denied = {kind for kind, _ in self._denied()}
        self._met |= dict.fromkeys(sorted(denied))
        families = Families([rows.RIGHTS_MISSING])
        for verb, resource in self._met:
            labels = {"verb": label(verb), "resource": label(resource)}
            families.add(rows.RIGHTS_MISSING, labels, float((verb, resource) in denied))
        return families.collected()


_ELECTION = (rows.LEADER, rows.LEADER_SEEN, rows.LEADER_TRANSITIONS, rows.LEASE_RENEWAL_AGE)


class LeadershipCollector(Collector):
    """Registered only where there is an election."""

    def __init__(self, elector: Elector) -> None:
        self._elector = elector

    def collect(self) -> Iterable[Family]:
        """Yield this daemon's part in the election."""
        elector, families = self._elector, Families(_ELECTION)
        families.add(rows.LEADER, {"identity": label(elector.identity)}, float(elector.leading))
        families.add(rows.LEADER_SEEN, {}, float(elector.sees_leader))
        for event, count in elector.transitions.items():
            families.add(rows.LEADER_TRANSITIONS, {"event": label(event)}, count)
        if (age := elector.renewal_age) is not None:
            families.add(rows.LEASE_RENEWAL_AGE, {}, age)
        return families.collected()
