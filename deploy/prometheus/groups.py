"""All rules, in their groups."""

from deploy.prometheus.daemon import DAEMON
from deploy.prometheus.experiments import EXPERIMENTS
from deploy.prometheus.observed import OBSERVED
from deploy.prometheus.recordings import RECORDINGS
from deploy.prometheus.row import Alert, Group

ALERTS: tuple[Alert, ...] = (*EXPERIMENTS, *OBSERVED, *DAEMON)

TAKEOVER = "1m"
"""Longer than no daemon exports experiments while another one takes over (20 s, and a scrape). An alert that ended then
would page a second time."""

GROUPS = (
    Group("muster-recordings", RECORDINGS, interval="30s"),
    Group("muster-experiments", (*EXPERIMENTS, *OBSERVED), keep=TAKEOVER),
    Group("muster-daemon", DAEMON),
)
