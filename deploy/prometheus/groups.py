"""All rules, in their groups."""

from deploy.prometheus.daemon import DAEMON
from deploy.prometheus.experiments import EXPERIMENTS
from deploy.prometheus.held import TAKEOVER
from deploy.prometheus.incidents import INCIDENTS
from deploy.prometheus.recordings import OWNERS, RECORDINGS
from deploy.prometheus.row import Alert, Group
from deploy.prometheus.slo import OPTION, SLO, SLO_RECORDINGS
from deploy.prometheus.watched import WATCHED

ALERTS: tuple[Alert, ...] = (*INCIDENTS, *EXPERIMENTS, *WATCHED, *DAEMON, *SLO)

GROUPS = (
    Group("muster-recordings", RECORDINGS, interval="30s"),
    Group("muster-experiments", (OWNERS, *INCIDENTS, *EXPERIMENTS, *WATCHED), keep=TAKEOVER),
    Group("muster-daemon", DAEMON),
    Group("muster-slo", (*SLO_RECORDINGS, *SLO), interval="30s", option=OPTION),
)
