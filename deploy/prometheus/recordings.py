"""The recorded series.

Their names hold ``muster``, so that they meet no rule of another project. Those of one experiment take the maximum over
the daemons that are scraped, so that a counter continues as one series when another musterd leads. Those of the time of
a namespace are made of the counters of all runs, which each leader begins at 0: the series of single runs know only a
part of the number of runs, and of what an ended run held.

The labels of owners on the alerts about runs are those of ``muster_experiment_info``. ``OWNERS`` holds one of each run,
so that the join is never ambiguous: where two daemons differ for a scrape, and for the five minutes in which a label
that was changed is looked back at, what is scraped now comes first. musterd exports all series of a run or none, so no
alert is without it.
"""

from deploy.prometheus.held import kept_on
from deploy.prometheus.row import Recording
from muster.state.policies.failures.restart_reasons import BY_THE_PLATFORM
from muster.state.policies.request import REASON as REQUESTED

FAILURES = f'reason!~"{"|".join((*BY_THE_PLATFORM, REQUESTED))}"'
"""Restarts for the other reasons: neither the platform nor a person wanted them."""

STUCK_IN = "muster_namespace_experiments_stuck"
INFO = "muster_experiment_info"
_OWNERS = "experiment:muster_owners:info"
OWNERS = Recording(
    _OWNERS,
    f"topk by (namespace, experiment) (1, 2 * {INFO} or last_over_time({INFO}[5m])) ^ 0\nor\n  {kept_on(_OWNERS)}",
    "Always 1, with the labels of owners of each run (`settings.ownerLabels`).",
    owners=True,
)
BEFORE_OWNERS = "("


def with_owners(names: str) -> str:
    """Return the suffix of an expression about runs that adds these labels, separated by commas."""
    return f") * on (namespace, experiment) group_left ({names})\n  {OWNERS.name}"


def _experiment(name: str, metric: str, meaning: str) -> Recording:
    return Recording(name, f"max by (namespace, experiment) ({metric})", meaning)


def _or_none(metric: str, whole: str) -> str:
    """Return a metric that a healthy run may lack while it is 0, or 0; such a run always has ``whole``."""
    return f"max by (namespace, experiment) ({metric}) or max by (namespace, experiment) ({whole}) * 0"


def _of_all(counter: str, labels: str) -> str:
    """Return the rate of a namespace's counter over the daemons that have led, by bucket; each daemon counts once."""
    return f"sum by (namespace, bucket) (max by (job, instance, namespace, {labels}) (rate({counter}[5m])))"


def wall(rates: str) -> str:
    """Return the sum of the buckets. What is taken back is in two of them: in productive, and in what it has become."""
    wall, twice = (f'sum by (namespace) ({rates}{{bucket{how}"taken_back"}})' for how in ("!=", "="))
    return f"{wall} - ({twice})"


def _p95(metric: str) -> str:
    return f"histogram_quantile(0.95, sum by (operator, le) (rate({metric}_bucket[1h])))"


RECORDINGS = (
    _experiment(
        "experiment:muster_gang_restarts:max", "muster_experiment_gang_restarts_total", "Gang restarts so far."
    ),
    Recording(
        "experiment:muster_failures:max",
        "sum by (namespace, experiment) (max by (namespace, experiment, reason)"
        f" (muster_experiment_restarts_total{{{FAILURES}}}))"
        " or max by (namespace, experiment) (muster_experiment_gang_restarts_total) * 0",
        "Restarts of gang, job or member after failures of the program.",
    ),
    Recording(
        "experiment:muster_disruptions:max",
        _or_none("muster_experiment_disruptions_total", "muster_experiment_gang_restarts_total"),
        "Restarts by the platform.",
    ),
    _experiment(
        "experiment:muster_wall_seconds:max", "muster_experiment_wall_seconds_total", "Seconds since the start."
    ),
    _experiment(
        "experiment:muster_productive_seconds:max",
        "muster_experiment_productive_seconds_total",
        "Productive seconds, as known then.",
    ),
    Recording(
        "experiment:muster_taken_back_seconds:max",
        _or_none("muster_experiment_taken_back_seconds_total", "muster_experiment_productive_seconds_total"),
        "Those of them that turned out to be lost, stuck or paused.",
    ),
    Recording(
        "experiment:muster_goodput:ratio",
        "(experiment:muster_productive_seconds:max - experiment:muster_taken_back_seconds:max)"
        " / (experiment:muster_wall_seconds:max > 0)",
        "Goodput since the start.",
    ),
    Recording(
        "experiment:muster_goodput:ratio_rate1h",
        "clamp_min(rate(experiment:muster_productive_seconds:max[1h])"
        " - rate(experiment:muster_taken_back_seconds:max[1h]), 0)"
        " / (rate(experiment:muster_wall_seconds:max[1h]) > 0)",
        "Goodput of the last hour.",
    ),
    Recording(
        "namespace:muster_seconds:rate5m",
        _of_all("muster_namespace_seconds_total", "operator, bucket"),
        "Runs of a namespace by bucket, also those without series of their own.",
    ),
    Recording(
        "namespace:muster_accelerator_seconds:rate5m",
        _of_all("muster_namespace_accelerator_seconds_total", "operator, resource, bucket"),
        "Their accelerators.",
    ),
    Recording(
        "namespace:muster_wall_seconds:rate5m",
        wall("namespace:muster_seconds:rate5m"),
        "Its runs that are not suspended.",
    ),
    Recording(
        "namespace:muster_goodput:ratio_rate1h",
        'clamp_min(sum by (namespace) (sum_over_time(namespace:muster_seconds:rate5m{bucket="productive"}[1h]))'
        ' - sum by (namespace) (sum_over_time(namespace:muster_seconds:rate5m{bucket="taken_back"}[1h])), 0)'
        " / (sum by (namespace) (sum_over_time(namespace:muster_wall_seconds:rate5m[1h])) > 0)",
        "Its goodput of the last hour.",
    ),
    Recording(
        "namespace:muster_ranks_missing:sum",
        "sum by (namespace) (max by (namespace, experiment) (muster_experiment_ranks_missing))"
        f" or max by (namespace) ({STUCK_IN}) * 0",
        "Missing ranks.",
    ),
    Recording(
        "namespace:muster_experiments_stuck:sum",
        f"max by (namespace) ({STUCK_IN})",
        "Stuck experiments, also those without series of their own.",
    ),
    Recording(
        "operator:muster_time_to_assembled_seconds:p95_rate1h",
        _p95("muster_time_to_assembled_seconds"),
        "Time in which 95 % of the epochs were assembled.",
    ),
    Recording(
        "operator:muster_restart_downtime_seconds:p95_rate1h",
        _p95("muster_restart_downtime_seconds"),
        "Time in which 95 % of the restarts had a complete gang again.",
    ),
)
