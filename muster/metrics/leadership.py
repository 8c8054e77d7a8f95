"""The election, read at scrape: who leads, how often that changed, and how fresh the leader's claim is."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from muster.metrics.exposition import Families, label
from muster.metrics.rows import daemon as rows

_ROWS = (rows.LEADER, rows.LEADER_SEEN, rows.LEADER_TRANSITIONS, rows.LEASE_RENEWAL_AGE)


class Leadership(Protocol):
    """The state of an elector. The counts of transitions only grow."""

    @property
    def identity(self) -> str:
        """Who this daemon is in the Lease."""

    @property
    def leading(self) -> bool:
        """Whether it leads."""

    @property
    def sees_leader(self) -> bool:
        """Whether another daemon holds the Lease and renews it."""

    @property
    def transitions(self) -> Mapping[str, int]:
        """How often it became leader and ceased to be one, by how (a small closed set)."""

    @property
    def renewal_age(self) -> float | None:
        """Seconds since the last successful renewal was sent; None while it does not lead."""


class LeadershipCollector(Collector):
    """Registered only where there is an election."""

    def __init__(self, leadership: Leadership) -> None:
        self._leadership = leadership

    def collect(self) -> Iterable[Family]:
        """This daemon's part in the election."""
        elector, families = self._leadership, Families(_ROWS)
        families.add(rows.LEADER, {"identity": label(elector.identity)}, float(elector.leading))
        families.add(rows.LEADER_SEEN, {}, float(elector.sees_leader))
        for event, count in elector.transitions.items():
            families.add(rows.LEADER_TRANSITIONS, {"event": label(event)}, count)
        if (age := elector.renewal_age) is not None:
            families.add(rows.LEASE_RENEWAL_AGE, {}, age)
        return families.collected()
