"""What a row of the catalogue is: one metric, its type, and the section it is read in."""

from dataclasses import dataclass
from enum import StrEnum


class Type(StrEnum):
    """The OpenMetrics types in use."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"
    INFO = "info"


_SUFFIX = {Type.COUNTER: "_total", Type.INFO: "_info"}


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. ``name`` is what a query writes (a histogram's without ``_bucket``), ``buckets`` are upper bounds."""

    name: str
    type: Type
    help: str
    labels: tuple[str, ...] = ()
    unit: str = ""
    buckets: tuple[float, ...] = ()

    @property
    def family(self) -> str:
        """The name without the suffix that OpenMetrics reserves for the type."""
        return self.name.removesuffix(_SUFFIX.get(self.type, ""))


@dataclass(frozen=True, slots=True)
class Section:
    """Rows that are read together."""

    title: str
    text: str
    rows: tuple[Metric, ...]
