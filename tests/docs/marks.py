"""What runs the blocks of pages that do not name it themselves: a test, or the reason why none does.

A key is the page, or a folder of pages, and the first words of the block. A block that is neither here, nor marked on
its page, nor executed fails `test_pages.py`; so does a row here without its block.
"""

from typing import Final

LOCAL: Final = "tests/docs/test_pages.py::test_every_command_of_the_page_works"
MANIFESTS: Final = "tests/docs/test_pages.py::test_every_manifest_is_valid"

RUN_BY: Final[dict[tuple[str, str], str]] = {
    ("chart.md", "# team-"): "tests/deploy/chart/test_shards.py::test_releases_of_the_page_share_no_object",
    ("platform.md", "kubectl apply -f deploy/readers.yaml"): "tests/real/situations/test_readers.py",
    ("runbooks/", "kubectl"): "tests/docs/test_pages.py::test_every_command_exists_with_its_options",
    ("runbooks/", "muster"): "tests/docs/test_commands_parse.py",
    ("guide.md", "muster list --phase Succeeded"): "tests/cli/test_delete_and_prune.py",
    ("guide.md", "muster logs train"): "tests/cli/test_verbs_on_a_cluster.py",
    ("other-kinds.md", "note: spec.types"): LOCAL,
    ("pod-template.md", "apiVersion: muster.dev/v1alpha1"): MANIFESTS,
    ("operators/pytorch.md", "apiVersion: muster.dev/v1alpha1"): MANIFESTS,
    ("policies.md", "apiVersion: muster.dev/v1alpha1"): MANIFESTS,
    ("policies.md", "kind: AIchorManifest"): MANIFESTS,
}
NOT_RUN: Final[dict[tuple[str, str], str]] = {
    ("architecture.md", "Kubernetes watch streams"): "a drawing",
    ("architecture.md", "decide ─▶ ProbeTarget"): "a drawing",
    (
        "dashboards.md",
        "kubectl create configmap",
    ): "needs a Grafana; the chart's ConfigMaps of the same files are tested",
    ("development.md", "make real"): "20 minutes; it is the proof itself",
    ("guide.md", "FROM python"): "needs a registry",
    ("policies.md", "apiVersion: v1"): "an object of Kubernetes, of which no rule is ours",
    ("runbooks/README.md", "amtool"): "needs an Alertmanager",
}
GENERATED: Final = {"reasons.md", "cli.md", "manifest-reference.md", "metrics.md"}
"""Pages whose source is tested instead."""
