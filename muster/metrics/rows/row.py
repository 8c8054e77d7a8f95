"""A row of the catalogue: one metric, its type, and the section it is read in."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Type(StrEnum):
    """The OpenMetrics types in use."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"
    INFO = "info"


class Lean(IntEnum):
    """Samples of a row that remain for a run without all of its series (``muster.metrics.series``)."""

    NEVER = 0
    """Nothing where many run."""
    NOT_ZERO = 1
    """Samples that are not 0: alerts and rules read those."""
    IN_TROUBLE = 2
    """Samples that are not 0, and zeros until the run is well again: alerts read the end."""
    ALWAYS = 3
    """All: alerts and rules read its zeros, too."""


_SUFFIX = {Type.COUNTER: "_total", Type.INFO: "_info"}


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. ``name`` is what a query writes (a histogram's without ``_bucket``), ``buckets`` are upper bounds.

    ``lean`` is about the rows of single runs.
    """

    name: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    lean: Lean = Lean.NEVER

    @property
    def type(self) -> Type:
        """Return the type that its name and its buckets show (prometheus.io, "Metric and label naming")."""
        if self.buckets:
            return Type.HISTOGRAM
        return next((kind for kind, suffix in _SUFFIX.items() if self.name.endswith(suffix)), Type.GAUGE)

    @property
    def unit(self) -> str:
        """Return the unit that its name shows; empty for a number of things."""
        return "seconds" if self.family.endswith("_seconds") else ""

    @property
    def family(self) -> str:
        """Return the name without the suffix that OpenMetrics reserves for the type."""
        return self.name.removesuffix(_SUFFIX.get(self.type, ""))


@dataclass(frozen=True, slots=True)
class Section:
    """Rows that are read together."""

    title: str
    text: str
    rows: tuple[Metric, ...]
