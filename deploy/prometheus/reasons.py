"""The expressions of the alerts about a reason of the condition Stuck. ``muster.metrics.runbooks`` has the reasons.

A missing series is looked back at for ``GAP``, as one scrape that fails ends it: the time of an alert (``for``) would
begin again with each of them. The last value counts, so a condition that is false for one sample ends all the same.
Where scrapes are further apart than that, Prometheus' own five minutes hold. An alert that fires already continues
through longer gaps (``held``).
"""

from itertools import chain

from deploy.prometheus.held import held
from deploy.prometheus.row import OF_REASON, ONE, REASON, Alert, Severity
from muster.metrics.runbooks import REASONS

GAP = "30s"
"""Range of the lookback: of each three scrapes, 5 s apart, two may fail, and more."""

CLAIMED = tuple(chain.from_iterable(REASONS.values()))
"""Every reason that has an alert of its own."""


_OF_REASON, _OF_RUN = "namespace, experiment, reason, audience", "namespace, experiment"


def about_reason(
    name: str, severity: Severity, what: str, description: str, hold: str = "0s", expr: str = "", keep: str = ""
) -> Alert:
    """Return the alert about the experiments that are stuck for one of its reasons, by ``expr`` if not by ``stuck``."""
    summary = f"{ONE}: {what} ({REASON})."
    return Alert(name, expr or stuck(name), severity, summary, description, hold, audience=OF_REASON, keep=keep)


def stuck(alert: str) -> str:
    """Return the experiments that are stuck for one of the reasons of that alert; each is one regular expression."""
    return f"{stuck_now(alert)}\n{or_held(alert)}"


def stuck_again_and_again(alert: str) -> str:
    """Return those of ``stuck``, and those that were within three minutes and for 70 % of the last half hour."""
    pattern, one = "|".join(REASONS[alert]), _OF_RUN
    lately = f'max_over_time(muster_experiment_stuck_reason{{reason=~"{pattern}"}}[3m])'
    return f"""{stuck_now(alert)}
or
  max by ({one}, reason, audience) ({lately}) == 1
and on ({one})
  max by ({one}) (avg_over_time(muster_experiment_stuck[30m])) > 0.7
and on ({one})
  max by ({one}) (muster_experiment_stuck offset 20m) >= 0
{or_held(alert)}"""


def stuck_otherwise(alert: str) -> str:
    """Return the experiments that are stuck for a reason that has no alert of its own."""
    return f"{_stuck('!~', CLAIMED)}\n{or_held(alert)}"


def stuck_whatever(alert: str) -> str:
    """Return those of ``stuck`` without the reason's label, so that one reason of that alert may follow another."""
    return f"{_stuck('=~', REASONS[alert], _OF_RUN)}\n{or_held(alert, _OF_RUN)}"


def stuck_now(alert: str) -> str:
    """Return those of ``stuck`` for a longer expression: ``or_held`` belongs to its end."""
    return _stuck("=~", REASONS[alert])


def or_held(alert: str, by: str = _OF_REASON) -> str:
    """Return the end of an expression: the alert continues while no leader is heard."""
    return f"or\n  {held(alert, by)}"


def _stuck(operator: str, reasons: tuple[str, ...], by: str = _OF_REASON) -> str:
    pattern = "|".join(reasons)
    selected = f'muster_experiment_stuck_reason{{reason{operator}"{pattern}"}}'
    return f"max by ({by}) ({selected} or last_over_time({selected}[{GAP}])) == 1"
