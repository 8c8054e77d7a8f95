"""Label values fit for a scrape.

One lone surrogate in one label value breaks the encoding of the whole scrape, and NUL or ESC reach whoever reads it
raw. So every value passes through `label`. Where values are not known beforehand (the reason of a cause, say),
`Bounded` limits how many label sets a metric may have, because each one lives as long as the process.
"""

from typing import Generic, TypeVar

from prometheus_client import Counter, Histogram

from metrics.catalogue import LABEL_SETS, LONGEST, OTHER
from metrics.row import Metric
from muster.api.printing import printable

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
