"""docs/metrics.md, printed from the catalogue: ``python -m muster.metrics.docs > docs/metrics.md``."""

import sys
from collections.abc import Iterator

from muster.metrics.catalogue import LABEL_SETS, LONGEST, OTHER, SECTIONS
from muster.metrics.rows.row import Metric, Section

_INTRODUCTION = f"""\
# Metrics

Written by `python -m muster.metrics.docs` from `metrics/catalogue.py`; do not edit.

The daemon serves these on `/metrics`, as OpenMetrics to scrapers that ask for it and in the Prometheus text format
otherwise. Label values are printable and at most {LONGEST} characters long. A counter or histogram takes {LABEL_SETS}
different label sets; what comes after is counted under the label value `{OTHER}`.
"""


def page() -> str:
    """The whole document."""
    return "\n".join([_INTRODUCTION, *(line for section in SECTIONS for line in _lines(section))])


def _lines(section: Section) -> Iterator[str]:
    yield from (
        f"## {section.title}",
        "",
        section.text,
        "",
        "| metric | type | labels | meaning |",
        "|---|---|---|---|",
    )
    for row in section.rows:
        labels = ", ".join(f"`{name}`" for name in row.labels)
        yield f"| `{row.name}` | {row.type} | {labels} | {row.help}{_bounds(row)} |"
    yield ""


def _bounds(row: Metric) -> str:
    if not row.buckets:
        return ""
    return f" Buckets in {row.unit}: {', '.join(f'{bound:g}' for bound in row.buckets)}."


if __name__ == "__main__":
    sys.stdout.write(page())
