"""For each alert: situations in which it must fire, and situations in which it must not."""

from tests.deploy.prometheus.cases.assembly import ASSEMBLY
from tests.deploy.prometheus.cases.daemon import DAEMON
from tests.deploy.prometheus.cases.observed import OBSERVED
from tests.deploy.prometheus.cases.obstacles import OBSTACLES
from tests.deploy.prometheus.cases.restarts import RESTARTS

CASES = (*ASSEMBLY, *OBSTACLES, *OBSERVED, *RESTARTS, *DAEMON)
