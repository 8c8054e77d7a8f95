"""A scrape in two halves: look, then write it down.

Looking reads the daemon's live state and so belongs to its event loop. Writing is most of the work, needs only what was
seen, and may be done in a thread, so that a scrape of 20,000 series does not hold up decisions.

From rows of the catalogue to the families and samples of one scrape.

Label values fit for a scrape.

One lone surrogate in one label value breaks the encoding of the whole scrape, and NUL or ESC reach every reader
raw. So every value passes through `label`. Where values are not known beforehand (the reason of a cause, say),
`Bounded` limits how many label sets a metric may have, because each one lives as long as the process.
"""

from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, Counter, Histogram, generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from muster.api.values.printable import printable
from muster.metrics.catalogue import LABEL_SETS, LONGEST, OTHER
from muster.metrics.row import Metric

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
    """The body and its content type: OpenMetrics where the Accept header names it, else the text format."""
    if any(choice.split(";")[0].strip().lower() == OPENMETRICS for choice in accept.split(",")):
        # Our names need no escaping; saying that any would be allowed spares the writer a look at each letter of each.
        body: bytes = openmetrics.generate_latest(seen, escaping=openmetrics.ALLOWUTF8)
        return body, f"{OPENMETRICS}; version=1.0.0; charset=utf-8"
    return generate_latest(seen), CONTENT_TYPE_PLAIN_0_0_4


class Families:
    """The families of one collector in one scrape. A row without samples is still described."""

    def __init__(self, rows: Iterable[Metric]) -> None:
        self._families = {row.name: Family(row.family, row.help, row.type, row.unit) for row in rows}

    def add(self, row: Metric, labels: Mapping[str, str], value: float) -> None:
        """Add a sample. ``labels`` is kept, not copied: thousands of samples may share one mapping."""
        self._families[row.name].samples.append(Sample(row.name, labels, value))  # type: ignore[arg-type]

    def collected(self) -> Iterable[Family]:
        """All of them."""
        return self._families.values()


_Instrument = TypeVar("_Instrument", Counter, Histogram)


def label(value: str) -> str:
    """A label value that every scraper can read."""
    return printable(value, LONGEST)


class Bounded(Generic[_Instrument]):
    """An instrument with labels that stops taking new label sets when it has ``limit`` of them."""

    def __init__(self, row: Metric, instrument: _Instrument, folded: Counter, limit: int = LABEL_SETS) -> None:
        self._row = row
        self._instrument: _Instrument = instrument
        self._folded = folded
        self._limit = limit
        self._series: dict[tuple[str, ...], _Instrument] = {}

    def at(self, *values: str) -> _Instrument:
        """The series with these label values, or the one that collects the overflow."""
        if values in self._series:  # the usual case: values that are as they may be, and were met before
            return self._series[values]
        key = tuple(label(value) for value in values)
        if key not in self._series:
            if len(self._series) >= self._limit:
                self._folded.labels(self._row.name).inc()
                return self._instrument.labels(*(OTHER,) * len(values))
            self._series[key] = self._instrument.labels(*key)
        return self._series[key]
