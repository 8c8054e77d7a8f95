"""For each alert: situations in which it must fire, and situations in which it must not."""

from tests.deploy.prometheus.cases.assembly import ASSEMBLY
from tests.deploy.prometheus.cases.clusters import CLUSTERS
from tests.deploy.prometheus.cases.daemon import DAEMON
from tests.deploy.prometheus.cases.incidents import INCIDENTS
from tests.deploy.prometheus.cases.obstacles import OBSTACLES
from tests.deploy.prometheus.cases.restarts import RESTARTS
from tests.deploy.prometheus.cases.scrapes import SCRAPES
from tests.deploy.prometheus.cases.slo import SLO
from tests.deploy.prometheus.cases.slow_scrapes import SLOW_SCRAPES
from tests.deploy.prometheus.cases.watched import WATCHED

CASES = (*INCIDENTS, *ASSEMBLY, *OBSTACLES, *WATCHED, *RESTARTS, *SCRAPES, *SLOW_SCRAPES, *DAEMON, *CLUSTERS, *SLO)
