"""A row of the rules: an alert with its thresholds, or a recording.

In an expression and in the texts of an alert, ``@name`` is the place of a threshold of that row, or of one of ``GIVEN``
(``@{name}`` where a letter follows). PromQL has an ``@`` modifier, which these rules do not use.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from deploy.prometheus.clusters import ALONE, AMONG, LABEL
from muster.state.facts.audience import Audience

KNOWN = "known"
GIVEN = {
    "job": "musterd",
    "replicas": "2",
    "cluster": LABEL,
    KNOWN: "",
    "objective": "0.95",
    "weight": "",
    "whose": "runs",
    ALONE: "",
    AMONG: "{",
}
"""Values that every alert may use, with defaults: the job label of musterd's scrape, how many replicas run, the label
that names the cluster, the clusters of the chart's list in which none is scraped, the share of time not to be wasted,
what the names of the series have in them that weigh it, whose time that is, and the selector of the shard. The chart
has a variable of each name, except for ``KNOWN``."""

OF_REASON = None
"""The audience of an alert whose series have it, by the reason of Stuck (``muster.state.facts.audience``)."""

ONE = "{{ $labels.namespace }}/{{ $labels.experiment }}"
REASON = "{{ $labels.reason }}"
_OF_IT = "{@cluster=%q,shard=%q,namespace=%q,experiment=%q}"


def _query(promql: str, then: str) -> str:
    """Return a template that queries the alert's experiment and prints something of what was found."""
    labels = "$labels.@cluster $labels.shard $labels.namespace $labels.experiment"
    return f'{{{{ range query (printf "{promql}" {labels}) }}}}{then}{{{{ end }}}}'


MISSING = _query(f"max by (experiment) (muster_experiment_ranks_missing{_OF_IT}) > 0", "{{ .Value }} missing, ")
FIRST = _query(f"max by (experiment) (muster_experiment_first_missing_rank{_OF_IT})", "first rank {{ .Value }}, ")
CAUSES = _query(
    f"sort_desc(max by (cause) (muster_experiment_ranks_missing_by_cause{_OF_IT}) > 0)",
    "{{ .Value }} {{ .Labels.cause }}, ",
)
WHY = _query(f"max by (reason) (muster_experiment_stuck_reason{_OF_IT}) == 1", "reason {{ .Labels.reason }}, ")
WHERE = _query(f"max by (message) (muster_experiment_hang_info{_OF_IT})", ": {{ .Labels.message }}")

PLACEHOLDER = re.compile(r"@\{?([a-z]+)\}?")


class Severity(StrEnum):
    """Receiver of an alert, and the time at which it is to be seen."""

    CRITICAL = "critical"
    """A person, now: machines are held and nothing moves, or Muster itself does not work."""
    WARNING = "warning"
    """A person, in working hours."""
    INFO = "info"
    """The owner of the experiment only."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """A named value of an alert. A string is a Prometheus duration."""

    name: str
    value: float | str
    meaning: str


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert. ``summary`` is a Prometheus template, ``description`` is plain text."""

    name: str
    expr: str
    severity: Severity
    summary: str
    description: str
    hold: str = "0s"
    """Time for which the expression must be true: the rule's ``for``."""
    thresholds: tuple[Threshold, ...] = ()
    audience: Audience | None = Audience.PLATFORM
    """Readers of the alert; None (``OF_REASON``) if the series name them in their label ``audience``."""
    placed: bool = True
    """True if the expression's result has the label namespace. If not, the chart adds that of its release."""
    keep: str = ""
    """Time for which it continues after its expression was true last (``keep_firing_for``), if not as long as its
    group's alerts do."""

    @property
    def about_run(self) -> bool:
        """Return True if it is about one run, and its summary begins with it."""
        return self.summary.startswith(ONE)


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded series, named ``level:metric:operation``."""

    name: str
    expr: str
    meaning: str
    owners: bool = False
    """Only where labels of owners are read."""


@dataclass(frozen=True, slots=True)
class Group:
    """Rules that are evaluated together, in this order. Without ``interval`` the interval is a value of the chart."""

    name: str
    rules: tuple[Alert | Recording, ...]
    interval: str = ""
    option: str = ""
    """The value of the chart that switches the group on; without the chart it has a file of its own."""
    keep: str = ""
    """Time for which an alert continues after its expression was true last: the rule's ``keep_firing_for``."""


def fill(text: str, value: Callable[[str], str]) -> str:
    """Return the text with each placeholder replaced by what ``value`` gives for its name."""
    return PLACEHOLDER.sub(lambda found: value(found[1]), text)
