"""A scrape in two halves: look, then write it down.

Looking reads the daemon's live state and so belongs to its event loop. Writing is most of the work, needs only what was
seen, and may be done in a thread, so that a scrape of 20,000 series does not hold up decisions.
"""

from collections.abc import Iterable

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector

OPENMETRICS = "application/openmetrics-text"


class Seen(Collector):
    """What one look at a registry showed."""

    def __init__(self, families: list[Family]) -> None:
        self._families = families

    def collect(self) -> Iterable[Family]:
        """The families as they were."""
        return self._families


def look(registry: Collector) -> Seen:
    """Read every collector once.

    ``_created`` samples are left out: Prometheus would store each as one more series, under a name in no catalogue.
    """
    families = list(registry.collect())
    for family in families:
        family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
    return Seen(families)


def write(seen: Seen, accept: str) -> tuple[bytes, str]:
    """The body and its content type: OpenMetrics for whoever names it in the Accept header, else the text format."""
    if any(choice.split(";")[0].strip().lower() == OPENMETRICS for choice in accept.split(",")):
        # Our names need no escaping; saying that any would be allowed spares the writer a look at each letter of each.
        body: bytes = openmetrics.generate_latest(seen, escaping=openmetrics.ALLOWUTF8)  # type: ignore[no-untyped-call]
        return body, f"{OPENMETRICS}; version=1.0.0; charset=utf-8"
    return generate_latest(seen), CONTENT_TYPE_PLAIN_0_0_4
