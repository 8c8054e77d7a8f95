"""The daemon: whether musterd follows the cluster, decides promptly, and may do what it needs to."""

from deploy.grafana.board import Board, variable
from deploy.grafana.daemon.instances import SILENT
from deploy.grafana.daemon.now import NOW
from deploy.grafana.daemon.watches import WATCHES
from deploy.grafana.daemon.work import PROCESS, PROMPT, REQUESTS
from deploy.grafana.marks import LEADERS
from deploy.grafana.parts import page

DAEMON = Board(
    name="muster-daemon",
    title="Muster / Daemon",
    description="Whether musterd follows the cluster, decides promptly, and may do what it needs to.",
    variables=(variable("instance", "Instance", "label_values(muster_build_info, instance)", many=True),),
    rows=(NOW, WATCHES, PROMPT, REQUESTS, PROCESS),
    links=(page("dashboards.md", "About these dashboards"), page("runbooks", "Runbooks"), SILENT),
    marks=(LEADERS,),
)
