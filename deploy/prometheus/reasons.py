"""The expressions of the alerts about a reason of the condition Stuck. ``muster.metrics.runbooks`` has the reasons."""

from itertools import chain

from muster.metrics.runbooks import REASONS

CLAIMED = tuple(chain.from_iterable(REASONS.values()))
"""Every reason that has an alert of its own."""


def stuck(alert: str) -> str:
    """The experiments that are stuck for one of the reasons of that alert; each is one regular expression."""
    return _stuck("=~", REASONS[alert])


def stuck_otherwise() -> str:
    """The experiments that are stuck for a reason that has no alert of its own."""
    return _stuck("!~", CLAIMED)


def _stuck(operator: str, reasons: tuple[str, ...]) -> str:
    pattern = "|".join(reasons)
    return (
        f'max by (namespace, experiment, reason) (muster_experiment_stuck_reason{{reason{operator}"{pattern}"}}) == 1'
    )
