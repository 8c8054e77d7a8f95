"""From rows of the catalogue to the families and samples of one scrape."""

from collections.abc import Iterable, Mapping

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.samples import Sample

from metrics.row import Metric


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
