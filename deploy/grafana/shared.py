"""Panels that several dashboards have."""

from collections.abc import Mapping, Sequence

from deploy.grafana.links import REASONS, TO_RUNBOOK, Link, page
from deploy.grafana.palette import ODD_FROM_ONE, TIME_STUCK
from deploy.grafana.row import Column, Graph, Panel, Stat, Table

HOUR = "1h"


def waiting(number: int, title: str, description: str, missing: str) -> Panel:
    """How many runs have missing members; ``missing`` is how many each of them misses."""
    query = f"sum(({missing}) > bool 0)"
    return Stat((number, 6, title), description, query, steps=ODD_FROM_ONE, links=("MusterRankMissing",))


def by_cause(number: int, title: str, description: str, missing: str) -> Panel:
    """How many members are missing for each cause; ``missing`` has the label ``cause``."""
    query = {"{{cause}}": f"sum by (cause) ({missing}) > 0"}
    return Graph((number, 8, title), description, query, stacked=True, stepped=True, links=("MusterRankMissing",))


def restarts(number: int, title: str, description: str, metric: str, operator: str) -> Panel:
    """How much this counter of an operator's restarts rose within the hour before each point, by reason."""
    query = {"{{reason}}": f'sum by (reason) (increase({metric}{{operator="{operator}"}}[{HOUR}])) > 0'}
    return Graph((number, 8, title), description, query, stacked=True, links=("MusterRestartStorm", REASONS))


_MUSTER = 'alertname=~"Muster.+"'


def _active_for(selector: str) -> str:
    """How long the condition of each alert that fires has held."""
    fires = f'ALERTS{{{_MUSTER},alertstate="firing",{selector}}}'
    return f"(time() - ALERTS_FOR_STATE{{{_MUSTER},{selector}}} and ignoring (alertstate) {fires})"


def alerts(
    number: int, width: int, *selectors: str, labels: tuple[str, ...], links: Mapping[str, Sequence[Link]]
) -> Panel:
    """Alerts of Muster that fire and that one of the selectors matches, with these labels."""
    shown = ("alertname", "severity", *labels)
    holds = f"max by ({', '.join(shown)}) ({' or '.join(_active_for(selector) for selector in selectors)})"
    return Table(
        (number, width, "Alerts that fire"),
        "Alerts of Muster's rules that fire, and for how long their conditions have held. Only those "
        "whose rules the data source above evaluates, or is sent the results of.",
        (Column("holds for", holds, "dtdurations", TIME_STUCK),),
        labels=shown,
        empty="No alert fires in this data source.",
        sort="holds for",
        cell_links={**TO_RUNBOOK, **links},
        height=6,
        links=(page("runbooks", "Runbooks"),),
    )
