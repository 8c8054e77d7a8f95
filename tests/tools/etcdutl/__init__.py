"""etcdutl, for the situation in which etcd is restored from a snapshot; MUSTER_ETCDUTL names one to take instead."""

from pathlib import Path

from tests.tools.go_tool import GoTool

ETCDUTL = GoTool(
    module=Path(__file__).parent,
    package="go.etcd.io/etcd/etcdutl/v3",
    program="etcdutl",
    variable="MUSTER_ETCDUTL",
    on_request="make tools ALL=1",
)
