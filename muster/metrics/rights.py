"""The rights that the daemon lacks, read at scrape."""

from collections.abc import Callable, Iterable

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from muster.metrics.exposition import Families, label
from muster.metrics.rows.daemon import RIGHTS_MISSING

Kind = tuple[str, str]
"""A kind of request: its verb and its resource. There are as many as the daemon sends."""


class RightsCollector(Collector):
    """``denied`` gives the kinds of requests that the API server keeps denying now, each with its error text."""

    def __init__(self, denied: Callable[[], Iterable[tuple[Kind, str]]]) -> None:
        self._denied = denied
        self._met: dict[Kind, None] = {}

    def collect(self) -> Iterable[Family]:
        """1 for each kind that is denied, 0 for each that was."""
        denied = {kind for kind, _ in self._denied()}
        self._met |= dict.fromkeys(sorted(denied))
        families = Families([RIGHTS_MISSING])
        for verb, resource in self._met:
            labels = {"verb": label(verb), "resource": label(resource)}
            families.add(RIGHTS_MISSING, labels, float((verb, resource) in denied))
        return families.collected()
