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


async def said(folder: Path, **answers: Any) -> list[str]:
    manifest = read_manifest(str(experiment(folder)))
    return [each async for each in lacking(manifest, Answers({**SERVED, **THERE, **answers}), "lab")]


async def test_a_cluster_that_has_all_of_it_lacks_nothing(tmp_path: Path) -> None:
    assert await said(tmp_path) == []


@pytest.mark.parametrize(
    ("path", "what"),
    [
        (LOCAL, "LocalQueue fast in namespace lab"),
        (PRIORITY, "WorkloadPriorityClass high"),
        (CLASS, "PriorityClass urgent"),
    ],
)
async def test_an_object_that_is_not_there_or_may_not_be_read_is_named(tmp_path: Path, path: str, what: str) -> None:
    assert await said(tmp_path, **{path: MISSING}) == [f"there is no {what}: create it, or name another"]
    assert await said(tmp_path, **{path: HIDDEN}) == [f"you may not read {what}, so it was not looked up"]


async def test_a_cluster_without_the_kind_is_said(tmp_path: Path) -> None:
    (sentence,) = await said(tmp_path, **{MUSTER: {"resources": []}})
    assert sentence.startswith("the cluster has no kind Experiment: ")
