"""Paths of objects: where Kubernetes keeps them, and no name reaches beyond its own segment."""

import pytest

from muster.api.errors import MusterError
from muster.kube.resources import core, custom
from muster.reconcilers.refs import ExperimentRef


def test_collections_and_objects_have_the_paths_of_the_kubernetes_api() -> None:
    assert core("lab", "pods") == "/api/v1/namespaces/lab/pods"
    assert core(None, "pods") == "/api/v1/pods"
    assert core("lab", "pods", "moe-0") == "/api/v1/namespaces/lab/pods/moe-0"
    assert custom("batch/v1", "lab", "jobs", "moe") == "/apis/batch/v1/namespaces/lab/jobs/moe"
    assert custom("batch/v1", None, "jobs") == "/apis/batch/v1/jobs"
    assert ExperimentRef("lab", "moe", "uid").path == "/apis/muster.dev/v1alpha1/namespaces/lab/experiments/moe"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../../nodes"])
def test_a_name_that_would_change_the_path_is_refused(name: str) -> None:
    for place in (("lab", "pods", name), (name, "pods", "moe"), (name, "pods")):
        with pytest.raises(MusterError, match="cannot be the name"):
            core(*place)
        with pytest.raises(MusterError, match="cannot be the name"):
            custom("muster.dev/v1alpha1", *place)
