"""docs/runbooks/README.md: the list of alerts, what can be set, and the recorded series, from the rows."""

from collections.abc import Iterator

from deploy.prometheus.daemon import DAEMON
from deploy.prometheus.experiments import EXPERIMENTS
from deploy.prometheus.incidents import INCIDENTS
from deploy.prometheus.recordings import OWNERS, RECORDINGS
from deploy.prometheus.slo import SLO, SLO_RECORDINGS
from deploy.prometheus.text import GENERATED_BY, Plain
from deploy.prometheus.watched import WATCHED

_HEAD = f"""\
<!-- {GENERATED_BY} -->
# Alerts and their runbooks

Each alert has a runbook: what it means, what to look at, what to do, how to silence it. musterd serves this folder at
`/runbooks/`, without a token, and its page and the annotation `runbook_url` of the alerts lead there: by the chart's
`externalUrl` or `ingress.host`, or else by its Service, which opens within the cluster only
([other ways](../chart.md#the-page-from-outside)); its labels name the experiment; its summary says the reason.

## How to install them

The Helm chart makes a PrometheusRule and a ServiceMonitor where the cluster has the Prometheus operator
([chart](../chart.md)). Without the operator, give your Prometheus
[muster.rules.yaml](../../deploy/prometheus/muster.rules.yaml) and the scrape job of
[prometheus.yaml](../../deploy/prometheus/prometheus.yaml), and your Alertmanager the route of
[alertmanager.yaml](../../deploy/prometheus/alertmanager.yaml). The links of that rule file open within the
cluster only; `python -m deploy.prometheus --runbooks https://muster.example.com/runbooks` prints the rules with links
to your address.

A coordinator that is frozen or cut off is reported within 30 s with these files:

| step | at most |
|---|---|
| musterd sees it (`Stuck`, reason `CoordinatorUnreachable`) | 10 s |
| Prometheus scrapes musterd (`scrape_interval`) | 5 s |
| Prometheus evaluates the rules (`interval` of their group) | 5 s |
| Alertmanager waits for more of its group (`group_wait`) | 5 s |

An alert about an experiment goes on for a minute after its cause is gone (`keep_firing_for`, Prometheus 2.42 or newer):
while another `musterd` takes over, no series of experiments are exported, and the alert must not end and page again.
One that fires goes on while no leader is heard at all, for 15 minutes: through scrapes that fail, an upgrade, or a
remote write that stalls. What keeps other alerts back goes on for longer than they do.

With the usual 30 s of `group_wait` and 15 s of both intervals it is 70 s. `honor_labels: true` is needed: without it
the label `namespace` is that of musterd's pod.

`critical` wants a person now, `warning` in working hours, `info` only the owner of the experiment. The label `audience`
says which person: `researcher` is the owner of the run, where the program, the manifest or a quota is to be mended;
`platform` are those who run the cluster. Where an alert is about several reasons it is the reason that decides
([catalogue](../../muster/state/facts/audience.py)). The Alertmanager's file has a route for each of both.
Labels can be added to each alert in the chart, the same for all experiments; the label `namespace` is always there.

The Alertmanager's file has inhibitions: a missing rank silences what follows from it, and while no `musterd` leads or
hears the API server nothing is said of single experiments.

A Prometheus operator that enforces a namespace label (`enforcedNamespaceLabel`) writes the namespace of musterd over
that of each experiment: two experiments of one name become one alert, of the wrong namespace. No rule can mend that,
as the label is gone. Exclude the ServiceMonitor and the PrometheusRule from it (`excludedFromEnforcement`).

## The alerts
"""

_SET = """
## What can be set

With the chart, everything below `prometheusRule` in its values; without it, edit a copy of the rule file. Each alert
has `enabled`, `severity`, `for` and `labels`, and some have thresholds:
"""

_RECORDED = """
## Recorded series
"""

_TESTED = """
## How they are tested

`python -m tests.deploy.prometheus` runs every alert through `promtool test rules`, on situations in which it must fire
and in which nothing must, and prints the table. `pytest -m cluster tests/deploy/prometheus/live` freezes the
coordinator of a real JAX gang, with musterd, Prometheus and Alertmanager on loopback as configured here, and prints the
seconds until the webhook arrives. `make fleet` plays the faults of a fleet of 1,000 runs on two musterds, and judges
incidents and notifications: 136 runs in five incidents beside six with reasons of their own are 11 notifications, five
of them critical. Where the machine has no Prometheus, these fetch Debian's packages without installing them, or say why
they cannot.
"""


def index() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *_alerts(), _SET, *_thresholds(), _RECORDED, *_recordings(), _TESTED])


def _alerts() -> Iterator[str]:
    parts = (
        ("About incidents:", INCIDENTS),
        ("About experiments, and runs of other controllers:", EXPERIMENTS),
        ("About what only another controller can mend, and what it does not:", WATCHED),
        ("About musterd itself:", DAEMON),
        ("About the objective of goodput, where [it is switched on](../goodput.md#an-objective):", SLO),
    )
    for title, alerts in parts:
        yield from (title, "", "| alert | severity | audience | for | what it means |", "|---|---|---|---|---|")
        for alert in alerts:
            meaning = Plain().filled(alert, alert.description)
            who = alert.audience or "by reason"
            row = (f"[{alert.name}]({alert.name}.md)", alert.severity, who, alert.hold, meaning)
            yield f"| {' | '.join(row)} |"
        yield ""


def _thresholds() -> Iterator[str]:
    yield from ("| value below `prometheusRule.alerts` | default | what it is |", "|---|---|---|")
    for alert in (*EXPERIMENTS, *WATCHED, *DAEMON):
        for each in alert.thresholds:
            yield f"| `{alert.name}.{each.name}` | `{each.value}` | {each.meaning} |"


def _recordings() -> Iterator[str]:
    yield from ("| series | what it is |", "|---|---|")
    for row in (*RECORDINGS, OWNERS, *SLO_RECORDINGS):
        yield f"| `{row.name}` | {row.meaning} |"
