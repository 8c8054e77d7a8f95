"""The row of the alerts that fire, which several dashboards have."""

from deploy.grafana.palette import TIME_STUCK
from deploy.grafana.row import Column, Table

_SINCE = 'ALERTS_FOR_STATE{alertname=~"Muster.+",%s}'
_FIRES = 'ALERTS{alertname=~"Muster.+",alertstate="firing",%s}'


def alerts(number: int, labels: str, *selectors: str) -> Table:
    """Return the alerts of Muster that fire and that one of the selectors matches, with these labels."""
    shown = f"alertname severity {labels}"
    held = " or ".join(f"(time() - {_SINCE % one} and ignoring (alertstate) {_FIRES % one})" for one in selectors)
    holds = f"max by ({', '.join(shown.split())}) ({held})"
    return Table(number, 24, "Alerts that fire", shown, (Column("holds for", holds, "dtdurations", TIME_STUCK),),
        empty="No alert fires in this data source.", height=6, links="runbooks",
        about="Alerts of Muster's rules that fire, and for how long their conditions have held. Only those whose rules "
        "the data source above evaluates, or is sent the results of.")  # fmt: skip
