"""A scrape in two halves: look, then write it down.

Looking reads the daemon's live state and so belongs to its event loop. Writing is most of the work, needs only what was
seen, and may be done in a thread, so that a scrape of 100,000 series does not block decisions.

Most families are few samples and are written by prometheus_client. The series of the experiments are many, and alike:
they come as a ``Block`` that writes its own samples, several times faster.

One lone surrogate in one label value breaks the encoding of the whole scrape, and NUL or ESC reach every reader
raw. So every value passes through `label`. Where values are not known beforehand (such as the reason of a cause),
`Bounded` limits how many label sets a metric may have, because each one lives as long as the process.
"""

import re
import zlib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Generic, TypeVar

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, Counter, Histogram, generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from muster.api.values.printable import printable
from muster.metrics.catalogue import LABEL_SETS, LONGEST, OTHER
from muster.metrics.rows.row import Metric

OPENMETRICS = "application/openmetrics-text"

_EOF = b"# EOF\n"


class Block(Family):
    """Families that a collector writes itself. For prometheus_client it is one family without samples."""

    def __init__(self) -> None:
        super().__init__("block", "", "gauge")

    @abstractmethod
    def written(self) -> Iterable[tuple[Metric, Iterable[str]]]:
        """Yield each row with the lines of its samples. Called once, in any thread."""


@dataclass(eq=False)
class Seen(Collector):
    """Result of one look at a registry: the ``blocks`` beside what prometheus_client collects."""

    families: list[Family]
    blocks: list[Block]

    def collect(self) -> Iterable[Family]:
        """Return the families as they were."""
        return self.families


def look(registry: Collector) -> Seen:
    """Read every collector once.

    ``_created`` samples are left out: Prometheus would store each as one more series, under a name in no catalogue.
    """
    found = list(registry.collect())
    families = [family for family in found if not isinstance(family, Block)]
    for family in families:
        family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
    return Seen(families, [family for family in found if isinstance(family, Block)])


def write(seen: Seen, accept: str, *, gzipped: bool = False) -> tuple[bytes, str]:
    """Return the body and its content type: OpenMetrics where the Accept header names it, else the text format.

    For a scraper that takes gzip it is compressed here, in the thread that writes it, because aiohttp would do it on
    the event loop; piece by piece, so that 24 MB are not copied once more. The fastest level makes a thirtieth of it,
    as each line is like the last.
    """
    join = _compressed if gzipped else b"".join
    if any(choice.split(";")[0].strip().lower() == OPENMETRICS for choice in accept.split(",")):
        pieces = chain([_openmetrics(seen)], _blocks(seen, _openmetrics), [_EOF])
        return join(pieces), f"{OPENMETRICS}; version=1.0.0; charset=utf-8"
    return join(chain([generate_latest(seen)], _blocks(seen, generate_latest))), CONTENT_TYPE_PLAIN_0_0_4


def _compressed(pieces: Iterable[bytes]) -> bytes:
    gzip = zlib.compressobj(1, wbits=16 + zlib.MAX_WBITS)  # with the header of gzip
    return b"".join((*map(gzip.compress, pieces), gzip.flush()))


def _openmetrics(families: Collector) -> bytes:
    # Our names need no escaping; saying that any would be allowed spares the writer a look at each letter of each.
    body: bytes = openmetrics.generate_latest(families, escaping=openmetrics.ALLOWUTF8)
    return body.removesuffix(_EOF)


def _blocks(seen: Seen, heading: Callable[[Collector], bytes]) -> Iterable[bytes]:
    for block in seen.blocks:
        for row, lines in block.written():
            yield heading(Seen([_family(row)], []))
            yield "".join(lines).encode()


def _family(row: Metric) -> Family:
    return Family(row.family, row.help, row.type, row.unit)


class Families:
    """The families of one collector in one scrape. A row without samples is still described."""

    def __init__(self, rows: Iterable[Metric]) -> None:
        self._families = {row.name: _family(row) for row in rows}

    def add(self, row: Metric, labels: Mapping[str, str], value: float) -> None:
        """Add a sample. ``labels`` is kept, not copied."""
        self._families[row.name].samples.append(Sample(row.name, labels, value))  # type: ignore[arg-type]

    def collected(self) -> Iterable[Family]:
        """Return all families."""
        return self._families.values()


_WORD = re.compile(r"\w*", re.ASCII)
"""Reasons of Kubernetes and of Muster are such words."""
_Instrument = TypeVar("_Instrument", Counter, Histogram)


def label(value: str) -> str:
    """Return a label value that every scraper can read."""
    return printable(value, LONGEST)


def reason(value: str) -> str:
    """Return a reason as a label value. That of a pod's status may be any text; one that is no word is ``_other``."""
    return label(value) if _WORD.fullmatch(value) else OTHER


def quoted(value: str) -> str:
    """Return ``label`` as it is written between quotes."""
    text = printable(value, LONGEST)
    return text if text.isalnum() else text.replace("\\", r"\\").replace('"', r"\"")


class LabelValues:
    """Label values for names that are met: the first ``limit`` have their own, and all others share ``OTHER``."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: dict[str, str] = {}

    def of(self, name: str) -> str:
        """Return the label value of a name."""
        found = self._known.get(name)
        if found is None:
            if len(self._known) >= self._limit:
                return OTHER
            found = self._known[name] = label(name)
        return found


class Bounded(Generic[_Instrument]):
    """An instrument with labels that stops taking new label sets when it has ``limit`` of them.

    It begins with the ``known`` ones, at 0.
    """

    def __init__(
        self,
        row: Metric,
        instrument: _Instrument,
        folded: Counter,
        known: Iterable[tuple[str, ...]] = (),
        limit: int = LABEL_SETS,
    ) -> None:
        self._instrument: _Instrument = instrument
        self._labels = row.labels
        self._folded = folded.labels(row.name)
        self._limit = limit
        self._series: dict[tuple[str, ...], _Instrument] = {values: instrument.labels(*values) for values in known}

    def at(self, *values: str) -> _Instrument:
        """Return the series with these label values, or the one that collects the overflow."""
        if values in self._series:  # the usual case: values that are as they may be, and were met before
            return self._series[values]
        key = tuple(reason(v) if name == "reason" else label(v) for name, v in zip(self._labels, values, strict=True))
        if key not in self._series:
            if len(self._series) >= self._limit:
                self._folded.inc()
                return self._instrument.labels(*(OTHER,) * len(values))
            self._series[key] = self._instrument.labels(*key)
        return self._series[key]
