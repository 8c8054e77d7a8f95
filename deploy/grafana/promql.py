"""PromQL that several dashboards use.

Series of one experiment are aggregated with ``max by (namespace, experiment)`` before they are joined: for one scrape
after a change of leader, two musterds may export the same experiment.

A window is that of the title (``1h``), or Grafana's ``$__rate_interval``: the time between two points, and never less
than four scrapes, so that no increase falls between two points, however long the range that is shown.
"""

from collections.abc import Mapping

PAIR = "namespace, experiment"
SPAN = "$__rate_interval"

OF_ALL = "muster_namespace_seconds_total"
"""The time of all runs, also of those without series of their own, by bucket."""
OF_ALL_HELD = "muster_namespace_accelerator_seconds_total"
"""Series of the time of all runs for each accelerator that a run held then."""
LOST_TO = "muster_namespace_accelerator_lost_seconds_total"
"""Wasted part of it, by what it was lost to."""

_OF_THE_EXPORTER = "instance, job, pod, container, endpoint, service, node, prometheus, replica"
OWNED = f"max without ({_OF_THE_EXPORTER}) (muster_experiment_info{{@chosen}})"
"""1 for each run, with the labels of its owners, whatever these are: what is left out names who exported it."""


def each(series: str, *more: str) -> str:
    """Return a metric of experiments, one series for each experiment and each value of the labels ``more``."""
    selected = series if "{" in series else f"{series}{{@chosen}}"
    return f"max by ({', '.join((PAIR, *more))}) ({selected})"


def quantile(share: float, histogram: str, window: str, where: str = "", by: str = "") -> str:
    """Return a quantile of what a histogram observed within the window."""
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({share:g}, sum by ({labels}) (rate({histogram}_bucket{{{where}}}[{window}])))"


def quantiles(histogram: str, window: str, where: str = "", high: int = 95) -> Mapping[str, str]:
    """Return the median and a high percentile of a histogram, by what their series are called."""
    shares = {"median": 0.5, f"{high}th percentile": high / 100}
    return {name: quantile(share, histogram, window, where) for name, share in shares.items()}


def summed(counter: str, window: str, buckets: str = "", by: str = "", how: str = "rate") -> str:
    """Return how a counter of the chosen namespaces rose within a window, of some buckets or of all that it has."""
    group, where = f" by ({by})" if by else "", f",{buckets}" if buckets else ""
    return f"sum{group} ({how}({counter}{{@chosen{where}}}[{window}]))"


def hours(counter: str, window: str, buckets: str = "", by: str = "") -> str:
    """Return the hours by which a counter of seconds rose within a window."""
    return f"{summed(counter, window, buckets, by, 'increase')} / 3600"


def goodput(window: str, by: str = "", counter: str = OF_ALL) -> str:
    """Return the share of the time of all runs of the chosen namespaces that was productive and was not taken back."""
    productive, back = (summed(counter, window, f'bucket="{name}"', by) for name in ("productive", "taken_back"))
    return f"clamp_min({productive} - {back}, 0) / {wall(window, by, counter)}"


def wall(window: str, by: str = "", counter: str = OF_ALL) -> str:
    """Return what the buckets add up to.

    What is taken back is in two of them: in productive, and in what it has become.
    """
    every, back = (summed(counter, window, f"bucket{which}", by) for which in ('!="taken_back"', '="taken_back"'))
    return f"({every} - {back})"


def any_has_run(window: str) -> str:
    """Return something once any of all runs was productive within the window."""
    return f'(sum(increase({OF_ALL}{{@chosen,bucket="productive"}}[{window}])) > 0)'


def restarts(of: str, operator: str) -> Mapping[str, str]:
    """Return how many restarts of gangs or members of an operator the hour before each point had, by reason."""
    counter = f'muster_{of}_restarts_total{{operator="{operator}"}}'
    return {"{{reason}}": f"sum by (reason) (increase({counter}[1h])) > 0"}
