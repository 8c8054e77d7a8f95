"""The panel of restarts per hour, which the dashboards of frameworks and of runs share."""

from deploy.grafana.panels import Panel, series
from deploy.grafana.parts import Head, Query, page, runbook

WINDOW = "1h"
READING = page("guide.md#8-every-reason-and-what-to-do", "Every reason, and what to do")


def restarts(number: int, title: str, description: str, metric: str, operator: str) -> Panel:
    """How much this counter of an operator's restarts rose within the hour before each point, by reason."""
    return series(
        Head(
            number=number,
            title=title,
            description=description,
            width=8,
            links=(runbook("MusterRestartStorm"), READING),
        ),
        [Query(f'sum by (reason) (increase({metric}{{operator="{operator}"}}[{WINDOW}])) > 0', "{{reason}}")],
        "short",
        stacked=True,
    )
