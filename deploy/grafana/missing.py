"""The panels of missing members, which the dashboards of frameworks and of runs share."""

from deploy.grafana.panels import Panel, series, single
from deploy.grafana.parts import GREEN, YELLOW, Head, Query, runbook

_RUNBOOK = (runbook("MusterRankMissing"),)


def waiting(number: int, title: str, description: str, missing: str) -> Panel:
    """How many runs have missing members; ``missing`` is how many each of them misses."""
    head = Head(number=number, title=title, description=description, width=6, links=_RUNBOOK)
    return single(head, [Query(f"sum(({missing}) > bool 0)")], "short", ((None, GREEN), (1, YELLOW)))


def by_cause(number: int, title: str, description: str, missing: str) -> Panel:
    """How many members are missing for each cause; ``missing`` has the label ``cause``."""
    head = Head(number=number, title=title, description=description, width=8, links=_RUNBOOK)
    return series(head, [Query(f"sum by (cause) ({missing}) > 0", "{{cause}}")], "short", stacked=True, stepped=True)
