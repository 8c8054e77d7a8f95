"""The panel of the alerts that fire."""

from collections.abc import Mapping, Sequence

from deploy.grafana.panels import Panel, listing
from deploy.grafana.parts import ORANGE, RED, YELLOW, Column, Head, Link, page

_MUSTER = 'alertname=~"Muster.+"'
_TO_RUNBOOK = {"alertname": (Link("Runbook of this alert", "${musterd}/runbooks/${__data.fields.alertname}.md"),)}


def _active_for(selector: str) -> str:
    """How long the condition of each alert that fires has held."""
    fires = f'ALERTS{{{_MUSTER},alertstate="firing",{selector}}}'
    return f"(time() - ALERTS_FOR_STATE{{{_MUSTER},{selector}}} and ignoring (alertstate) {fires})"


def alerts(
    number: int,
    width: int,
    *selectors: str,
    labels: tuple[str, ...],
    cell_links: Mapping[str, Sequence[Link]] | None = None,
) -> Panel:
    """Alerts of Muster that fire and that one of the selectors matches, with these labels."""
    shown = ("alertname", "severity", *labels)
    return listing(
        Head(
            number=number,
            title="Alerts that fire",
            description="Alerts of Muster's rules that fire, and for how long their conditions have held. Only those "
            "whose rules the data source above evaluates, or is sent the results of.",
            width=width,
            links=(page("runbooks", "Runbooks"),),
        ),
        [
            Column(
                "holds for",
                f"max by ({', '.join(shown)}) ({' or '.join(_active_for(selector) for selector in selectors)})",
                "dtdurations",
                ((None, YELLOW), (300, ORANGE), (1800, RED)),
            )
        ],
        labels=shown,
        empty="No alert fires in this data source.",
        sort="holds for",
        cell_links={**_TO_RUNBOOK, **(cell_links or {})},
        height=6,
    )
