"""What Flux's own libraries say of objects, for the tests of the health checks; MUSTER_FLUX names a program to take."""

from pathlib import Path

from tests.tools.go_tool import GoTool

FLUX = GoTool(
    module=Path(__file__).parent,
    package=".",
    program="flux-health",
    variable="MUSTER_FLUX",
    on_request="make tools ALL=1",
)
