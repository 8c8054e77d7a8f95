"""All rules, in their groups."""

from deploy.prometheus.daemon import DAEMON
from deploy.prometheus.experiments import EXPERIMENTS
from deploy.prometheus.recordings import RECORDINGS
from deploy.prometheus.row import Alert, Group

ALERTS: tuple[Alert, ...] = (*EXPERIMENTS, *DAEMON)

GROUPS = (
    Group("muster-recordings", RECORDINGS, interval="30s"),
    Group("muster-experiments", EXPERIMENTS),
    Group("muster-daemon", DAEMON),
)
