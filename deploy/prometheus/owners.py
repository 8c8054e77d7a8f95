"""The labels of owners on the alerts about runs.

``muster_experiment_info`` has them; a recorded series holds one of each run, so that the join is never ambiguous: where
two daemons say different things for a scrape, and for the five minutes in which a label that was changed is looked back
at, what is scraped now comes first. musterd exports all series of a run or none, so no alert is without it.
"""

from deploy.prometheus.held import kept_on
from deploy.prometheus.row import Recording

INFO = "muster_experiment_info"
NAME = "experiment:muster_owners:info"
OWNERS = Recording(
    NAME,
    f"topk by (namespace, experiment) (1, 2 * {INFO} or last_over_time({INFO}[5m])) ^ 0\nor\n  {kept_on(NAME)}",
    "Always 1, with the labels of owners of each run; only where `settings.ownerLabels` has some.",
    owners=True,
)
BEFORE = "("


def after(names: str) -> str:
    """What follows an expression about runs, to add these labels, separated by commas."""
    return f") * on (namespace, experiment) group_left ({names})\n  {OWNERS.name}"
