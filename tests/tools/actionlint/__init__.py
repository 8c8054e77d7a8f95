"""actionlint, for the test of the workflows; MUSTER_ACTIONLINT names one to take instead of building it."""

from pathlib import Path

from tests.tools.go_tool import GoTool

ACTIONLINT = GoTool(
    module=Path(__file__).parent,
    package="github.com/rhysd/actionlint/cmd/actionlint",
    program="actionlint",
    variable="MUSTER_ACTIONLINT",
)
