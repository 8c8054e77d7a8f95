"""docs/metrics.md, printed from the catalogue: ``python -m tools.metrics_page > docs/metrics.md``."""

import sys
from collections.abc import Iterator, Mapping

from muster.metrics.catalogue import LABEL_SETS, LONGEST, ONE_RUN, OTHER, SECTIONS
from muster.metrics.rows.experiment import ONE as RUN
from muster.metrics.rows.row import Lean, Section

_INTRODUCTION = f"""\
<!-- Made by `python -m tools.metrics_page` from `muster/metrics/catalogue.py`. Do not edit. -->
# Metrics

The daemon serves these on `/metrics`, as OpenMetrics or Prometheus text. A label value has at most {LONGEST} printable
characters. A counter or histogram takes {LABEL_SETS} label sets; the rest counts under the label value `{OTHER}`. Known
label values begin at 0.

- which experiments are stuck, why, and since when: `muster_experiment_stuck_reason == 1`, and `time() - muster_experiment_stuck_since_timestamp_seconds`
- what keeps the missing ranks: `muster_experiment_ranks_missing_by_cause > 0`
- goodput of an experiment, over its life: `(muster_experiment_productive_seconds_total - muster_experiment_taken_back_seconds_total) / muster_experiment_wall_seconds_total`
- where the rest of its time went: `muster_experiment_badput_seconds_total / ignoring (source) group_left () muster_experiment_wall_seconds_total`
- share of the time in which gangs were assembled, Stuck or not: `sum(rate(muster_phase_duration_seconds_sum{{phase="Running"}}[1d])) / sum(rate(muster_phase_duration_seconds_sum{{phase!="Suspended"}}[1d]))`
- how long a restart keeps a gang down: `histogram_quantile(0.9, sum by (le) (rate(muster_restart_downtime_seconds_bucket[6h])))`
- any value with the operator as a label: `muster_experiment_stuck * on (namespace, experiment) group_left (operator) muster_experiment_info`
"""  # noqa: E501


def page() -> str:
    """Return the whole document."""
    bounds = dict.fromkeys(row.buckets for section in SECTIONS for row in section.rows if row.buckets)
    named = {buckets: f"scale {number}" for number, buckets in enumerate(bounds, 1)}
    scales = [f"- {name}: {', '.join(f'{bound:g}' for bound in buckets)}" for buckets, name in named.items()]
    head = [_INTRODUCTION, "Histograms have one of these scales of buckets:", "", *scales, ""]
    return "\n".join([*head, *(line for section in SECTIONS for line in _lines(section, named))])


def _lines(section: Section, scales: Mapping[tuple[float, ...], str]) -> Iterator[str]:
    yield from (f"## {section.title}", "", section.text, "")
    for row in section.rows:
        known = RUN if section.title == ONE_RUN else ()
        labels = "".join(f", `{name}`" for name in row.labels if name not in known)
        scale = f", {scales[row.buckets]}" if row.buckets else ""
        star = {Lean.ALWAYS: r"\*", Lean.IN_TROUBLE: r"\*\*", Lean.NOT_ZERO: r"\*\*"}.get(row.lean, "") if known else ""
        yield f"- `{row.name}`{star} ({row.type}{scale}{labels}): {row.help}"
    yield ""


if __name__ == "__main__":
    sys.stdout.write(page())
