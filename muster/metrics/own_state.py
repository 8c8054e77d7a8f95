"""Metrics that the daemon reads of its own state at scrape: incidents, watches, missing rights and the election."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from muster.api.values.accelerators import Accelerators
from muster.kube.leaderelection.elector import Elector
from muster.kube.listwatch.reflector import Reflector
from muster.metrics.catalogue import OTHER, RECONNECTS
from muster.metrics.exposition import Families, label, reason
from muster.metrics.rows import daemon as rows
from muster.metrics.rows import incident as incident_rows
from muster.state.facts.incidents.tracking import Tracking
from muster.state.facts.nodes.suspects import Suspect

CLUSTER = "cluster"
"""The scope of an incident of several namespaces."""
PAIRS = 256
"""Most pairs of resource and reason. The runs that are explained are bounded by the incidents."""


@dataclass(eq=False)
class IncidentCollector(Collector):
    """The incidents that are shown, the runs that they explain, and the suspect nodes."""

    tracking: Callable[[], Tracking]
    lost: Callable[[], Mapping[tuple[str, str], float]]
    """Gives the accelerator-seconds by resource and reason."""
    accelerators: Accelerators
    suspects: Callable[[], Iterable[Suspect]] = tuple

    def collect(self) -> Iterable[Family]:
        """Yield the incidents that are shown, and the runs that they explain."""
        families, tracking = Families(incident_rows.ROWS), self.tracking()
        for each in tracking.shown:
            key = each.key
            labels = {
                "kind": key.kind,
                "subject": label(key.subject),
                "cause": each.cause,
                "scope": label(f"namespace/{each.alone}" if each.alone else CLUSTER),
                "audience": each.audience.value,
            }
            families.add(incident_rows.RUNS, labels, len(each.members))
            families.add(incident_rows.RANKS, labels, each.ranks)
            families.add(incident_rows.ACCELERATORS, labels, self.accelerators.count(each.devices))
            families.add(incident_rows.SINCE, labels, each.began)
            for run in each.explains:
                families.add(
                    incident_rows.EXPLAINED, {"namespace": label(run.namespace), "experiment": label(run.name)}, 1
                )
        families.add(incident_rows.HIDDEN, {}, tracking.hidden)
        for suspect in self.suspects():
            families.add(incident_rows.SUSPECT, {"node": label(suspect.node)}, suspect.runs)
        sums: defaultdict[tuple[str, str], float] = defaultdict(float)
        for (resource, why), seconds in self.lost().items():
            pair = label(resource), reason(why)
            sums[pair if pair in sums or len(sums) < PAIRS else (OTHER, OTHER)] += seconds
        for (resource, why), seconds in sums.items():
            families.add(incident_rows.LOST, {"resource": resource, "reason": why}, seconds)
        return families.collected()


@dataclass(eq=False)
class WatchCollector(Collector):
    """The watches, which show how fresh the daemon's picture of the cluster is, and the pods that are ignored."""

    reflectors: Callable[[], Iterable[tuple[str, Reflector[Any]]]]
    """Yields each watch with its resource."""
    clock: Callable[[], float]
    """The reflectors' own."""
    foreign_pods: Callable[[], Mapping[str, int]] = dict
    """Counts the pods that are ignored, by reason."""

    def collect(self) -> Iterable[Family]:
        """Yield one set of series per resource: the stalest watch, synced when all are, and the sum of their counts."""
        now = self.clock()
        by_resource: dict[str, list[Reflector[Any]]] = {}
        for resource, stats in self.reflectors():
            by_resource.setdefault(label(resource), []).append(stats)
        families = Families(row for row in rows.WATCHES if row is not rows.TRACKED_PODS)
        for resource, watches in by_resource.items():
            one = {"resource": resource}
            families.add(rows.WATCH_STALENESS, one, max(watch.staleness(now) for watch in watches))
            families.add(rows.WATCH_SYNCED, one, float(all(watch.feed.synced for watch in watches)))
            families.add(rows.WATCH_RELISTS, one, sum(watch.feed.relists for watch in watches))
            families.add(rows.WATCH_DECODE_ERRORS, one, sum(watch.decode_errors for watch in watches))
            reconnects = dict.fromkeys(RECONNECTS, 0) | _sum(watch.reconnects for watch in watches)
            for why, count in reconnects.items():
                families.add(rows.WATCH_RECONNECTS, {**one, "reason": why}, count)
            for kind, count in _sum(watch.events for watch in watches).items():
                families.add(rows.WATCH_EVENTS, {**one, "type": kind}, count)
        for why, pods in self.foreign_pods().items():
            families.add(rows.FOREIGN_PODS, {"reason": label(why)}, pods)
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


@dataclass(eq=False)
class LeadershipCollector(Collector):
    """Metrics of an election, registered only with one: who leads, how often that changed, how fresh the claim is."""

    elector: Elector

    def collect(self) -> Iterable[Family]:
        """Yield this daemon's part in the election."""
        elector, families = self.elector, Families(rows.ELECTION)
        families.add(rows.LEADER, {"identity": label(elector.identity)}, float(elector.leading))
        families.add(rows.LEADER_SEEN, {}, float(elector.sees_leader))
        for event, count in elector.transitions.items():
            families.add(rows.LEADER_TRANSITIONS, {"event": label(event)}, count)
        if (age := elector.renewal_age) is not None:
            families.add(rows.LEASE_RENEWAL_AGE, {}, age)
        return families.collected()
