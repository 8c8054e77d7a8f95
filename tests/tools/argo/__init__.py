"""What Argo CD says of the health of objects, for tests of the health check; MUSTER_ARGO names a program to take."""

from pathlib import Path

from tests.tools.go_tool import GoTool

ARGO = GoTool(
    module=Path(__file__).parent,
    package=".",
    program="argo-health",
    variable="MUSTER_ARGO",
    on_request="make tools ALL=1",
)
