"""PromQL that several dashboards use.

Series of one experiment are aggregated with ``max by (namespace, experiment)`` before they are joined: for one scrape
after a change of leader, two musterds may export the same experiment.
"""

from collections.abc import Mapping

CHOSEN = 'namespace=~"$namespace"'
"""Experiments of the namespaces chosen at the top."""

ONE = 'namespace="$namespace",experiment="$experiment"'
"""The experiment chosen at the top."""

PAIR = "namespace, experiment"

OF_THE_EXPORTER = ("instance", "job", "pod", "container", "endpoint", "service", "node", "prometheus", "replica")
"""Labels that Prometheus and its operator give a series by who exported it."""

STEP = "$__interval"
"""Grafana's variable for the time between two points of a panel."""

SPAN = "$__rate_interval"
"""Grafana's variable for the window of a rate: the time between two points, and never less than four scrapes.

No increase falls between two points, however long the range that is shown.
"""


def each(metric: str, selector: str, *more: str) -> str:
    """A metric of experiments, one series for each experiment and each value of the labels ``more``."""
    return f"max by ({', '.join((PAIR, *more))}) ({metric}{{{selector}}})"


def owned(selector: str) -> str:
    """1 for each run, with the labels of its owners, whatever these are: what is left out names who exported it."""
    return f"max without ({', '.join(OF_THE_EXPORTER)}) (muster_experiment_info{{{selector}}})"


def stuck_reasons(selector: str) -> str:
    """1 for each stuck experiment, with the reason of its condition Stuck."""
    return f"{each('muster_experiment_stuck_reason', selector, 'reason')} == 1"


def quantile(share: float, histogram: str, window: str, selector: str = "", by: str = "") -> str:
    """A quantile of what a histogram observed within the window."""
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({share:g}, sum by ({labels}) (rate({histogram}_bucket{{{selector}}}[{window}])))"


def quantiles(histogram: str, window: str, selector: str = "") -> Mapping[str, str]:
    """The median and the 95th percentile of a histogram, by what their series are called."""
    return {
        "median": quantile(0.5, histogram, window, selector),
        "95th percentile": quantile(0.95, histogram, window, selector),
    }


OF_ALL = "muster_namespace_seconds_total"
"""The time of all runs, also of those without series of their own, by bucket."""
OF_ALL_HELD = "muster_namespace_accelerator_seconds_total"
"""The same for each accelerator that a run held then."""


LOST_TO = "muster_namespace_accelerator_lost_seconds_total"
"""What of it was wasted, by what it was lost to."""


def hours_of_all(window: str, buckets: str = "", by: str = "", counter: str = OF_ALL_HELD) -> str:
    """Accelerator-hours of the chosen namespaces within a window, of some buckets or of all that are counted."""
    group = f" by ({by})" if by else ""
    selector = f"{CHOSEN},{buckets}" if buckets else CHOSEN
    return f"sum{group} (increase({counter}{{{selector}}}[{window}])) / 3600"


def goodput_of_all(window: str, by: str = "", counter: str = OF_ALL) -> str:
    """The share of the time of all runs of the chosen namespaces that was productive and was not taken back."""
    productive, back = time_of_all(window, 'bucket="productive"', by, counter), _taken_back(window, by, counter)
    return f"clamp_min({productive} - {back}, 0) / {wall_of_all(window, by, counter)}"


def wall_of_all(window: str, by: str = "", counter: str = OF_ALL) -> str:
    """What the buckets add up to. What is taken back is in two of them: in productive, and in what it has become."""
    every = time_of_all(window, 'bucket!="taken_back"', by, counter)
    return f"({every} - {_taken_back(window, by, counter)})"


def time_of_all(window: str, buckets: str, by: str = "", counter: str = OF_ALL) -> str:
    """How many runs of the chosen namespaces, or accelerators that they hold, were in these buckets on average."""
    group = f" by ({by})" if by else ""
    return f"sum{group} (rate({counter}{{{CHOSEN},{buckets}}}[{window}]))"


def _taken_back(window: str, by: str, counter: str) -> str:
    return time_of_all(window, 'bucket="taken_back"', by, counter)


def any_has_run(window: str) -> str:
    """Something, once any of all runs was productive within the window."""
    return f'(sum(increase({OF_ALL}{{{CHOSEN},bucket="productive"}}[{window}])) > 0)'


def goodput(selector: str, window: str, by: str = "", kind: str = "productive") -> str:
    """The share of the wall time in which all ranks had arrived and ran and it was not Stuck, or of another part."""
    group = f" by ({by})" if by else ""
    if kind == "productive":
        rate = "sum{} (rate(muster_experiment_{}_seconds_total{{{}}}[{}]))".format
        taken_back = rate(group, "taken_back", selector, window)
        kept = f"{rate(group, kind, selector, window)} - {taken_back}"
        return f"clamp_min({kept}, 0) / {rate(group, 'wall', selector, window)}"
    productive, wall = (
        f"sum{group} (rate(muster_experiment_{each}_seconds_total{{{selector}}}[{window}]))" for each in (kind, "wall")
    )
    return f"{productive} / {wall}"


def has_run(selector: str) -> str:
    """Something, once any of these experiments has been productive; empty before, when its goodput says nothing yet."""
    return f"(max(muster_experiment_productive_seconds_total{{{selector}}}) > 0)"
