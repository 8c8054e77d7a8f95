"""``muster lint --cluster``: what a cluster lacks for a manifest, and nothing of it is asked without the option."""

from pathlib import Path

import pytest
import yaml

from muster.api.names import QUEUE_LABEL
from tests.cli.conftest import Call
from tests.client.localserver import MANIFEST, LocalServer
from tests.examples.table import BY_NAME

QUEUED = {QUEUE_LABEL: "fast", "kueue.x-k8s.io/priority-class": "high"}


def experiment(folder: Path, **changes: object) -> Path:
    spec = yaml.safe_load(MANIFEST)["spec"]
    spec["template"] = {"spec": {"priorityClassName": "urgent"}}
    metadata = {"name": "train", "labels": QUEUED}
    file = folder / "experiment.yaml"
    document = {"apiVersion": "muster.dev/v1alpha1", "kind": "Experiment", "metadata": metadata, "spec": spec | changes}
    file.write_text(yaml.safe_dump(document))
    return file


def warnings(call: Call, *words: object) -> list[str]:
    result = call("lint", *words)
    assert result.exit_code == 0, result.output
    return [line.partition(": warning: ")[2] for line in result.stdout.splitlines()]


def test_no_cluster_is_asked_without_an_option(call: Call, server: LocalServer, tmp_path: Path) -> None:
    assert warnings(call, experiment(tmp_path)) == []


@pytest.mark.parametrize("option", ["--cluster", "--kubeconfig"])
def test_what_the_manifest_names_and_the_cluster_lacks_is_a_warning(
    call: Call, server: LocalServer, tmp_path: Path, option: str
) -> None:
    words = (option,) if option == "--cluster" else (option, server.kubeconfig)
    assert warnings(call, experiment(tmp_path), *words) == [
        f"the label {QUEUE_LABEL} needs Kueue 0.15 or later, and the cluster has no kueue.x-k8s.io/v1beta2: install it",
        "there is no PriorityClass urgent: create it, or name another",
    ]


def test_another_kind_that_is_served_may_still_not_be_run_by_musterd(call: Call, server: LocalServer) -> None:
    assert warnings(call, BY_NAME["jaxjob"].path, "--cluster") == [
        "whether musterd runs JAXJob objects cannot be seen from here: its setting run-kinds must have jaxjobs"
    ]


def test_a_file_that_cannot_be_used_is_not_asked_for(call: Call, server: LocalServer, tmp_path: Path) -> None:
    result = call("lint", experiment(tmp_path, image=7), "--cluster")
    assert (result.exit_code, "warning" in result.stdout) == (2, False)


def test_without_a_cluster_the_option_fails(call: Call, tmp_path: Path) -> None:
    assert call("lint", experiment(tmp_path), "--cluster").exit_code == 1
