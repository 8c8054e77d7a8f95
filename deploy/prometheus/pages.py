"""docs/runbooks/README.md: the list of alerts, what can be set, and the recorded series, from the rows."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from deploy.prometheus.daemon import DAEMON
from deploy.prometheus.experiments import EXPERIMENTS
from deploy.prometheus.incidents import INCIDENTS
from deploy.prometheus.recordings import OWNERS, RECORDINGS
from deploy.prometheus.slo import SLO, SLO_RECORDINGS
from deploy.prometheus.text import GENERATED_BY
from deploy.prometheus.watched import WATCHED
from muster.metrics.runbooks import PLACES

_HEAD = f"""\
<!-- {GENERATED_BY} -->
# Alerts and their runbooks

`runbook_url` of each alert leads to its heading on one of these pages, which musterd serves at `/runbooks/` without a
token ([at which address](../chart.md#the-page-from-outside)). "What to do", at the top of a
page, holds for all its alerts.

`critical` needs a person now, `warning` in working hours, `info` only the owner. The audience is who can fix it:
`researcher`, the owner of the run, or `platform`; of many that of their [reason](../reasons.md#stuck).

## How to install them

The [chart](../chart.md) installs them where the cluster has the Prometheus operator. Without it, give Prometheus
[muster.rules.yaml](../../deploy/prometheus/muster.rules.yaml) and the scrape job of
[prometheus.yaml](../../deploy/prometheus/prometheus.yaml), and Alertmanager the routes and inhibitions of
[alertmanager.yaml](../../deploy/prometheus/alertmanager.yaml). `python -m deploy.prometheus --runbooks
https://muster.example.com/runbooks` writes rules with your address. The label `namespace` must stay that of the
experiment: set `honor_labels: true`, and `excludedFromEnforcement` where an operator enforces a namespace label.

## To silence an alert

Silence an alert for one subject only: its name, with the labels below.

```console
amtool --alertmanager.url=http://localhost:9093 silence add --duration=2h --comment="why, and who" \\
  alertname=NAME namespace=NAMESPACE experiment=NAME
# or: alertname=MusterIncident kind=rack subject=r0; or: alertname=MusterNoLeader job=musterd
```

A silenced incident still holds back the alerts of its runs. A second rack that joins changes no label; the incident of
a node may become that of its rack.

## Did it help?

- A run: `muster get NAME -n NAMESPACE -w` shows N/N ranks, `Running`, no `Stuck`, and after a restart a higher epoch.
  `muster wait --for Assembled` ends at once where all ranks had arrived in this epoch.
- musterd: `muster doctor` exits with 0, `max(muster_leader)` is 1, and `renewTime` of its Lease advances.

An alert about a run or an incident continues for one to five minutes after its cause (Prometheus 2.42), and for up to
15 minutes without a leader: then its end is no recovery.

## The alerts

Each with severity, audience unless its reason has it, and the time that its cause must last; in parentheses what else
to silence it by.
"""

_SET = """
## What can be set

Below `prometheusRule.alerts` of the chart; without it, edit a copy of the rule file. Each alert has `enabled`,
`severity`, `for` and `labels`. Some have thresholds (default in parentheses):
"""

_RECORDED = """
## Recorded series

Those of waste exist for 5m, 30m, 1h, 2h, 6h, 1d and 3d.
"""

RUN: Final = ("namespace", "experiment")
_MUSTERD: Final = ("job",)
SILENCED: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("MusterIncident", "MusterIncidentLasts"), ("kind", "subject")),
    "MusterNodeSuspect": ("node",),
    "MusterSameFailureEnded": ("verdict",),
    **dict.fromkeys((alert.name for alert in DAEMON), _MUSTERD),
    "MusterWatchStale": ("resource",),
    "MusterStandbyStale": ("instance",),
    "MusterRightsMissing": ("verb", "resource"),
    "MusterInternalErrors": ("place",),
    **dict.fromkeys((alert.name for alert in SLO), ("namespace",)),
}
"""The labels that name the subject of an alert, where that is not one run."""

AT_ONCE: Final = "0s"

WINDOW = re.compile(r"(?<=wasted:ratio_rate)\w+|(?<=wasted_accelerators:ratio_rate)\w+")
"""Window of a recording of the objective. The page shows the first window."""


def index() -> str:
    """Return the whole page."""
    return "\n".join([_HEAD, *_alerts(), _SET, *_thresholds(), _RECORDED, *_recordings()])


def _alerts() -> Iterator[str]:
    parts = (
        ("Incidents", INCIDENTS),
        ("Experiments, and runs of other controllers", EXPERIMENTS),
        ("What only another controller can fix", WATCHED),
        ("musterd itself", DAEMON),
        ("The [objective](../goodput.md#an-objective) of goodput", SLO),
    )
    for title, alerts in parts:
        usual, _ = Counter(SILENCED.get(alert.name, RUN) for alert in alerts).most_common(1)[0]
        yield from (f"{title}; silence by {' and '.join(usual)}:", "")
        for alert in alerts:
            facts = (alert.severity, alert.audience, alert.hold.removeprefix(AT_ONCE))
            labels = SILENCED.get(alert.name, RUN)
            other = "" if labels == usual else f" ({' and '.join(labels)})"
            yield f"- [{alert.name}]({PLACES[alert.name]}){other}: {', '.join(filter(None, facts))}"
        yield ""


def _thresholds() -> Iterator[str]:
    named: defaultdict[str, list[str]] = defaultdict(list)
    for alert in (*EXPERIMENTS, *WATCHED, *DAEMON):
        for each in alert.thresholds:
            named[each.meaning].append(f"`{alert.name}.{each.name}` (`{each.value}`)")
    yield from (f"- {', '.join(names)}: {meaning}" for meaning, names in named.items())


def _recordings() -> Iterator[str]:
    seen = set()
    for row in (*RECORDINGS, OWNERS, *SLO_RECORDINGS):
        if (stem := WINDOW.sub("", row.name)) not in seen:
            yield f"- `{row.name}`: {row.meaning}"
        seen.add(stem)
