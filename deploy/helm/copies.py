"""Files that the chart needs inside its folder, and that have their source elsewhere.

They are copies and not links: Flux leaves links out of what it fetches, and Helm warns of each.
"""

from pathlib import Path

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy/helm/muster"
CRD = ROOT / "deploy/crds/experiments.muster.dev.yaml"
DASHBOARDS = ROOT / "deploy/grafana/json"
NAME = "metadata:\n  name: experiments.muster.dev\n"
KEEP = "  annotations:\n    helm.sh/resource-policy: keep # uninstalling the chart must not delete all experiments\n"


def copies() -> dict[Path, str]:
    """Each copy and what it should contain."""
    dashboards = sorted(DASHBOARDS.glob("*.json"))
    return {
        CHART / "files/experiments.muster.dev.yaml": crd(CRD.read_text(encoding="utf-8")),
        **{CHART / "files/dashboards" / each.name: each.read_text(encoding="utf-8") for each in dashboards},
    }


def crd(text: str) -> str:
    """The custom resource definition, which Helm must not delete with a release."""
    if text.count(NAME) != 1:
        raise ValueError(f"{CRD} does not have its name once, at the place that is expected: {NAME!r}")
    return text.replace(NAME, NAME + KEEP)
