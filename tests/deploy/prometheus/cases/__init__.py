"""For each alert: situations in which it must fire, and situations in which it must not."""

from tests.deploy.prometheus.cases.clusters import CLUSTERS
from tests.deploy.prometheus.cases.slo import SLO
from tests.deploy.prometheus.cases.slow_scrapes import SLOW_SCRAPES
from tests.deploy.prometheus.cases.watched import WATCHED
from tests.deploy.prometheus.cases.written import written

FILES = ("incidents", "assembly", "obstacles", "restarts", "scrapes", "daemon")
CASES = (*(case for name in FILES for case in written(name)), *WATCHED, *SLOW_SCRAPES, *CLUSTERS, *SLO)
