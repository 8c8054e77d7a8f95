"""Helm, for the tests of the chart; MUSTER_HELM names one to take instead of building it.

``python -m tests.tools.helm`` builds it and prints where it is.
"""

import re
from pathlib import Path

from tests.tools.go_tool import GoTool

MODULE = Path(__file__).parent


def pinned() -> str:
    """The version in go.mod."""
    found = re.search(r"helm\.sh/helm/v3 (v\S+)", (MODULE / "go.mod").read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


HELM = GoTool(
    module=MODULE,
    package="helm.sh/helm/v3/cmd/helm",
    program="helm",
    variable="MUSTER_HELM",
    ldflags=f"-s -w -X helm.sh/helm/v3/internal/version.version={pinned()}",
)
