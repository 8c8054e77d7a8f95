"""The election, read at scrape: who leads, how often that changed, and how fresh the leader's claim is."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from muster.metrics import catalogue
from muster.metrics.exposition import Families, label

_ROWS = (catalogue.LEADER, catalogue.LEADER_TRANSITIONS, catalogue.LEASE_RENEWAL_AGE)


class Leadership(Protocol):
    """What an elector tells of itself. Numbers of transitions only ever grow."""

    @property
    def identity(self) -> str:
        """Who this daemon is in the Lease."""

    @property
    def leading(self) -> bool:
        """Whether it leads."""

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
        told, families = self._leadership, Families(_ROWS)
        families.add(catalogue.LEADER, {"identity": label(told.identity)}, float(told.leading))
        for event, count in told.transitions.items():
            families.add(catalogue.LEADER_TRANSITIONS, {"event": label(event)}, count)
        if (age := told.renewal_age) is not None:
            families.add(catalogue.LEASE_RENEWAL_AGE, {}, age)
        return families.collected()
