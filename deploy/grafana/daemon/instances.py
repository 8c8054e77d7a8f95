"""What the panels of the daemon ask of the chosen instances."""

from deploy.grafana.parts import Query, page
from deploy.grafana.promql import SPAN, quantile

CHOSEN = 'instance=~"$instance"'
SILENT = page("guide.md#9-when-muster-itself-is-silent", "When Muster itself is silent")


def rate(metric: str, by: str) -> str:
    """A rate of the chosen instances, summed by these labels."""
    return f"sum by ({by}) (rate({metric}{{{CHOSEN}}}[{SPAN}]))"


def tails(histogram: str) -> list[Query]:
    """The median and the 99th percentile of a histogram of the chosen instances."""
    return [
        Query(quantile(0.5, histogram, SPAN, CHOSEN), "median"),
        Query(quantile(0.99, histogram, SPAN, CHOSEN), "99th percentile"),
    ]
