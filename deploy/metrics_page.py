"""docs/metrics.md, printed from the catalogue: ``python -m deploy.metrics_page > docs/metrics.md``."""

import sys
from collections.abc import Iterator

from muster.metrics.catalogue import LABEL_SETS, LONGEST, OTHER, SECTIONS
from muster.metrics.rows.row import Metric, Section

_INTRODUCTION = f"""\
# Metrics

Written by `python -m deploy.metrics_page` from `muster/metrics/catalogue.py`; do not edit.

The daemon serves these on `/metrics`, as OpenMetrics to scrapers that ask for it and in the Prometheus text format
otherwise. Label values are printable and at most {LONGEST} characters long. A counter or histogram takes {LABEL_SETS}
different label sets; what comes after is counted under the label value `{OTHER}`. Those whose label values are known
beforehand begin at 0.

| question | query |
|---|---|
| which experiments are stuck, why, and since when | `muster_experiment_stuck_reason == 1`, and `time() - muster_experiment_stuck_since_timestamp_seconds` |
| why ranks are missing | `muster_experiment_ranks_missing_by_cause > 0` |
| goodput of an experiment, over its life | `(muster_experiment_productive_seconds_total - muster_experiment_taken_back_seconds_total) / muster_experiment_wall_seconds_total` |
| where the rest of its time went | `muster_experiment_badput_seconds_total / ignoring (source) group_left () muster_experiment_wall_seconds_total` |
| share of the time in which gangs were assembled, Stuck or not, with those too short for a scrape | `sum(rate(muster_phase_duration_seconds_sum{{phase="Running"}}[1d])) / sum(rate(muster_phase_duration_seconds_sum{{phase!="Suspended"}}[1d]))` |
| how long a restart keeps a gang down | `histogram_quantile(0.9, sum by (le) (rate(muster_restart_downtime_seconds_bucket[6h])))` |
| any value with the operator as a label | `muster_experiment_stuck * on (namespace, experiment) group_left (operator) muster_experiment_info` |
"""  # noqa: E501


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
