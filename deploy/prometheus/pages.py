"""docs/runbooks/README.md: the list of alerts, what can be set, and the recorded series, from the rows."""

import re
from collections.abc import Iterator

from deploy.prometheus.daemon import DAEMON
from deploy.prometheus.experiments import EXPERIMENTS
from deploy.prometheus.incidents import INCIDENTS
from deploy.prometheus.recordings import OWNERS, RECORDINGS
from deploy.prometheus.slo import SLO, SLO_RECORDINGS
from deploy.prometheus.text import GENERATED_BY
from deploy.prometheus.watched import WATCHED

_HEAD = f"""\
<!-- {GENERATED_BY} -->
# Alerts and their runbooks

musterd serves this folder at `/runbooks/`, without a token. The annotation `runbook_url` of each alert leads there: by
the chart's `externalUrl` or `ingress.host`, else by its Service, which opens within the cluster only
([other ways](../chart.md#the-page-from-outside)).

## How to install them

The Helm chart makes a PrometheusRule and a ServiceMonitor where the cluster has the Prometheus operator
([chart](../chart.md)). Without it, give your Prometheus [muster.rules.yaml](../../deploy/prometheus/muster.rules.yaml)
and the scrape job of [prometheus.yaml](../../deploy/prometheus/prometheus.yaml), and your Alertmanager the routes and
inhibitions of [alertmanager.yaml](../../deploy/prometheus/alertmanager.yaml). The links of that rule file open within
the cluster only: `python -m deploy.prometheus --runbooks https://muster.example.com/runbooks` writes your address.
`honor_labels: true` is needed: without it the label `namespace` is that of musterd's pod. Exclude the ServiceMonitor
and the PrometheusRule from an operator that enforces a namespace label
(`excludedFromEnforcement`), for the same reason.

With these files a frozen coordinator is reported within 30 s (10 s musterd, 5 s scrape, 5 s rules, 5 s Alertmanager);
with the usual intervals of Prometheus and Alertmanager within 70 s. An alert about an experiment lasts for a minute
after its cause (`keep_firing_for`, Prometheus 2.42 or newer), and for 15 minutes while no leader is heard.

`critical` wants a person now, `warning` in working hours, `info` only the owner. `audience` is `researcher` for what
the owner of the run can fix, and `platform` for what those who run the cluster can. "by reason" is the audience of the
[reason](../reasons.md#stuck).

## To silence an alert

Silence an alert by its experiment, not by its name. Each runbook ends with the labels:

```console
amtool silence add --duration=2h --comment="why, and who looks at it" alertname=NAME namespace=NAMESPACE experiment=NAME
```

## The alerts
"""

_SET = """
## What can be set

With the chart, everything below `prometheusRule` in its values; without it, edit a copy of the rule file. Each alert
has `enabled`, `severity`, `for` and `labels`, and some have thresholds:
"""

_RECORDED = """
## Recorded series

Those of waste exist for 5m, 30m, 1h, 2h, 6h, 1d and 3d.
"""

_TESTED = """
## How they are tested

`python -m tests.deploy.prometheus` plays every alert through `promtool test rules`. `pytest -m cluster
tests/deploy/prometheus/live` freezes the coordinator of a real JAX gang and prints the seconds until the webhook
arrives. `make fleet` plays the faults of a fleet of 1,000 runs and judges incidents and notifications.
"""

WINDOW = re.compile(r"(?<=wasted:ratio_rate)\w+|(?<=wasted_accelerators:ratio_rate)\w+")
"""The window of a recording of the objective, of which the page shows the first."""


def index() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *_alerts(), _SET, *_thresholds(), _RECORDED, *_recordings(), _TESTED])


def _alerts() -> Iterator[str]:
    parts = (
        ("About incidents:", INCIDENTS),
        ("About experiments, and runs of other controllers:", EXPERIMENTS),
        ("About what only another controller can fix, and does not:", WATCHED),
        ("About musterd itself:", DAEMON),
        ("About the objective of goodput, where [it is switched on](../goodput.md#an-objective):", SLO),
    )
    for title, alerts in parts:
        yield from (title, "", "| alert | severity | audience | for |", "|---|---|---|---|")
        for alert in alerts:
            who = alert.audience or "by reason"
            row = (f"[{alert.name}]({alert.name}.md)", alert.severity, who, alert.hold)
            yield f"| {' | '.join(row)} |"
        yield ""


def _thresholds() -> Iterator[str]:
    yield from ("| value below `prometheusRule.alerts` | default | what it is |", "|---|---|---|")
    for alert in (*EXPERIMENTS, *WATCHED, *DAEMON):
        for each in alert.thresholds:
            yield f"| `{alert.name}.{each.name}` | `{each.value}` | {each.meaning} |"


def _recordings() -> Iterator[str]:
    yield from ("| series | what it is |", "|---|---|")
    seen = set()
    for row in (*RECORDINGS, OWNERS, *SLO_RECORDINGS):
        if (stem := WINDOW.sub("", row.name)) not in seen:
            yield f"| `{row.name}` | {row.meaning} |"
        seen.add(stem)
