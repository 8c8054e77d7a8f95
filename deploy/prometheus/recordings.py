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


def _experiment(what: str, meaning: str, whole: str = "") -> Recording:
    """Return a counter of each run. One that a healthy run lacks while it is 0 is 0 where the run has ``whole``."""
    own, other = (f"max by (namespace, experiment) (muster_experiment_{each}_total)" for each in (what, whole))
    return Recording(f"experiment:muster_{what}:max", f"{own} or {other} * 0" if whole else own, meaning)


def _of_all(counter: str, labels: str) -> str:
    """Return the rate of a namespace's counter over the daemons that have led, by bucket; each daemon counts once."""
    return f"sum by (namespace, bucket) (max by (job, instance, namespace, {labels}) (rate({counter}[5m])))"


def wall(rates: str) -> str:
    """Return the sum of the buckets. What is taken back is in two of them: in productive, and in what it has become."""
    wall, twice = (f'sum by (namespace) ({rates}{{bucket{how}"taken_back"}})' for how in ("!=", "="))
    return f"{wall} - ({twice})"


def _p95(what: str, meaning: str) -> Recording:
    quantile = f"histogram_quantile(0.95, sum by (operator, le) (rate(muster_{what}_seconds_bucket[1h])))"
    return Recording(f"operator:muster_{what}_seconds:p95_rate1h", quantile, f"Time in which 95 % of the {meaning}.")


RECORDINGS = (
    _experiment("gang_restarts", "Gang restarts so far."),
    Recording(
        "experiment:muster_failures:max",
        "sum by (namespace, experiment) (max by (namespace, experiment, reason)"
        f" (muster_experiment_restarts_total{{{FAILURES}}}))"
        " or max by (namespace, experiment) (muster_experiment_gang_restarts_total) * 0",
        "Restarts of gang, job or member after failures of the program.",
    ),
    _experiment("disruptions", "Restarts by the platform.", "gang_restarts"),
    _experiment("wall_seconds", "Seconds since the start."),
    _experiment("productive_seconds", "Productive seconds, as known then."),
    _experiment(
        "taken_back_seconds", "Those of them that turned out to be lost, stuck or paused.", "productive_seconds"
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
    _p95("time_to_assembled", "epochs were assembled"),
    _p95("restart_downtime", "restarts had a complete gang again"),
)
