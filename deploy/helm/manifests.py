"""deploy/musterd.yaml and deploy/readers.yaml: what the chart renders with its default values.

The custom resource definition is rendered, too; it is the file in deploy/crds.
"""

import re
import subprocess
from pathlib import Path

from deploy.helm.copies import CHART, ROOT

SYSTEM = "muster-system"
KUBERNETES = "1.36.0"
"""Rendered for this version: without one, a helm built from its module takes one older than the chart admits."""
MUSTERD = ROOT / "deploy/musterd.yaml"
READERS = ROOT / "deploy/readers.yaml"
RELEASE_LABELS = ("app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "helm.sh/chart")
"""Labels that are true of a release of Helm only."""
OF_RELEASE = re.compile(rf"^ +({'|'.join(map(re.escape, RELEASE_LABELS))}): .*\n", re.MULTILINE)
SOURCE = re.compile(r"^# Source: muster/templates/(\S+)\n", re.MULTILINE)

HEADS = {
    MUSTERD: f"""\
# musterd in a cluster: kubectl apply -f deploy/crds/experiments.muster.dev.yaml -f deploy/musterd.yaml
# Made by `python -m deploy.helm`: the namespace, and what the chart deploy/helm/muster renders with default values.
# Build the image from the Dockerfile and write its name below, or into a kustomization (deploy/kustomization.yaml).
apiVersion: v1
kind: Namespace
metadata:
  name: {SYSTEM}
  labels:
    pod-security.kubernetes.io/enforce: restricted
""",
    READERS: """\
# Made by `python -m deploy.helm`: the roles for people and for Prometheus that the chart renders with its defaults.
""",
}


class RenderFailed(Exception):
    """Helm refused the values, or the chart; the text is Helm's."""


def render(helm: Path, *options: str, namespace: str = SYSTEM, release: str = "muster") -> str:
    """Run `helm template`. Raises RenderFailed."""
    command = [str(helm), "template", release, str(CHART), "--namespace", namespace, "--kube-version", KUBERNETES]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RenderFailed(done.stderr.strip())
    return done.stdout


def manifests(rendered: str) -> dict[Path, str]:
    """Return the two files, from a rendering with default values."""
    parts: dict[Path, list[str]] = {MUSTERD: [HEADS[MUSTERD]], READERS: []}
    for document in rendered.split("---\n"):
        found = SOURCE.search(document)
        if found is None or found[1] == "crd.yaml":
            continue
        text = OF_RELEASE.sub("", SOURCE.sub("", document))
        parts[READERS if found[1] == "readers.yaml" else MUSTERD].append(text)
    return {MUSTERD: "---\n".join(parts[MUSTERD]), READERS: HEADS[READERS] + "---\n".join(parts[READERS])}
