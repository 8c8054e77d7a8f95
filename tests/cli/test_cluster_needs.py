"""What a manifest names and a cluster lacks: queues, priority classes, and objects that the caller may not read."""

from pathlib import Path
from typing import Any

import pytest

from muster.api.errors import ApiError, Forbidden, NotFound
from muster.cli.cluster_needs import lacking
from muster.cli.doctor.server import Asker
from muster.cli.manifests import read_manifest
from tests.cli.test_lint_cluster import experiment

MUSTER, KUEUE = "/apis/muster.dev/v1alpha1", "/apis/kueue.x-k8s.io/v1beta2"
LOCAL = f"{KUEUE}/namespaces/lab/localqueues/fast"
PRIORITY = f"{KUEUE}/workloadpriorityclasses/high"
CLASS = "/apis/scheduling.k8s.io/v1/priorityclasses/urgent"
SERVED = {MUSTER: {"resources": [{"name": "experiments"}]}, KUEUE: {"resources": [{"name": "workloads"}]}}
THERE: dict[str, Any] = {LOCAL: {}, PRIORITY: {}, CLASS: {}}
MISSING, HIDDEN = NotFound("not found", status=404), Forbidden("forbidden", status=403)


class Answers(Asker):
    """An API server that has only these objects."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers

    async def get(self, path: str, **_: Any) -> Any:
        found = self.answers.get(path, MISSING)
        if isinstance(found, ApiError):
            raise found
        return found


@pytest.mark.parametrize(
    ("changes", "lacks"),
    [
        ({}, []),
        ({LOCAL: MISSING}, ["there is no LocalQueue fast in namespace lab: create it, or name another"]),
        ({LOCAL: HIDDEN}, ["you may not read LocalQueue fast in namespace lab, so it was not looked up"]),
        ({PRIORITY: MISSING}, ["there is no WorkloadPriorityClass high: create it, or name another"]),
        ({PRIORITY: HIDDEN}, ["you may not read WorkloadPriorityClass high, so it was not looked up"]),
        ({CLASS: MISSING}, ["there is no PriorityClass urgent: create it, or name another"]),
        ({CLASS: HIDDEN}, ["you may not read PriorityClass urgent, so it was not looked up"]),
        ({MUSTER: {"resources": []}}, ["the cluster has no kind Experiment: "]),
    ],
)
async def test_what_is_not_there_or_may_not_be_read_is_named(
    tmp_path: Path, changes: dict[str, Any], lacks: list[str]
) -> None:
    manifest = read_manifest(str(experiment(tmp_path)))
    found = [each async for each in lacking(manifest, Answers({**SERVED, **THERE, **changes}), "lab")]
    assert len(found) == len(lacks)
    assert all(sentence.startswith(start) for sentence, start in zip(found, lacks, strict=True)), found
