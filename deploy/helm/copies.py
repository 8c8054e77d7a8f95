"""Files that the chart needs inside its folder, and that have their source elsewhere.

They are copies and not links: Flux leaves links out of what it fetches, and Helm warns of each. In a dashboard, the
label that names the cluster is a word that the template replaces.
"""

from pathlib import Path

from deploy.grafana.__main__ import BOARDS
from deploy.grafana.render import text

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy/helm/muster"
CRD = ROOT / "deploy/crds/experiments.muster.dev.yaml"
CLUSTER_LABEL = "CLUSTER_LABEL"
NAME = "metadata:\n  name: experiments.muster.dev\n"
KEEP = "  annotations:\n    helm.sh/resource-policy: keep # uninstalling the chart must not delete all experiments\n"


def copies() -> dict[Path, str]:
    """Return each copy and what it should contain."""
    return {
        CHART / "files/experiments.muster.dev.yaml": crd(CRD.read_text(encoding="utf-8")),
        **{CHART / f"files/dashboards/{board.name}.json": text(board, CLUSTER_LABEL) for board in BOARDS},
    }


def crd(written: str) -> str:
    """Return the custom resource definition, which Helm must not delete with a release."""
    if written.count(NAME) != 1:
        raise ValueError(f"{CRD} does not have its name once, at the place that is expected: {NAME!r}")
    return written.replace(NAME, NAME + KEEP)
