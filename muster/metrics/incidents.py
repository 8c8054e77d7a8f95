"""The incidents, read at scrape."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from muster.api.values.accelerators import Accelerators
from muster.metrics.catalogue import OTHER
from muster.metrics.exposition import Families, label, reason
from muster.metrics.rows import incident as rows
from muster.state.facts.incidents.incident import Incident
from muster.state.facts.incidents.tracking import Tracking
from muster.state.facts.nodes.suspects import Suspect

CLUSTER = "cluster"
"""The scope of an incident of several namespaces."""
LABEL_SETS = 256
"""Pairs of resource and reason, and runs that are explained in one scrape are bounded by the incidents."""


def scope_of(incident: Incident) -> str:
    """Return ``cluster``, or ``namespace/team`` where all runs are of that one."""
    return f"namespace/{incident.alone}" if incident.alone else CLUSTER


class IncidentCollector(Collector):
    """``tracking`` gives what is known now, ``lost`` the accelerator-seconds by resource and reason.

    ``suspects`` gives the suspect nodes.
    """

    def __init__(
        self,
        tracking: Callable[[], Tracking],
        lost: Callable[[], Mapping[tuple[str, str], float]],
        accelerators: Accelerators,
        suspects: Callable[[], Iterable[Suspect]] = tuple,
    ) -> None:
        self._suspects = suspects
        self._tracking = tracking
        self._lost = lost
        self._accelerators = accelerators

    def collect(self) -> Iterable[Family]:
        """Yield the incidents that are shown, and the runs that they explain."""
        families, tracking = Families(rows.ROWS), self._tracking()
        for each in tracking.shown:
            key = each.key
            labels = {
                "kind": key.kind,
                "subject": label(key.subject),
                "cause": each.cause,
                "scope": label(scope_of(each)),
                "audience": each.audience.value,
            }
            families.add(rows.RUNS, labels, len(each.members))
            families.add(rows.RANKS, labels, each.ranks)
            families.add(rows.ACCELERATORS, labels, self._accelerators.count(each.devices))
            families.add(rows.SINCE, labels, each.began)
            for run in each.explains:
                families.add(rows.EXPLAINED, {"namespace": label(run.namespace), "experiment": label(run.name)}, 1)
        families.add(rows.HIDDEN, {}, tracking.hidden)
        for suspect in self._suspects():
            families.add(rows.SUSPECT, {"node": label(suspect.node)}, suspect.runs)
        sums: defaultdict[tuple[str, str], float] = defaultdict(float)
        for (resource, why), seconds in self._lost().items():
            pair = label(resource), reason(why)
            sums[pair if pair in sums or len(sums) < LABEL_SETS else (OTHER, OTHER)] += seconds
        for (resource, why), seconds in sums.items():
            families.add(rows.LOST, {"resource": resource, "reason": why}, seconds)
        return families.collected()
