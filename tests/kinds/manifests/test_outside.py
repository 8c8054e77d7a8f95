"""Objects of kinds that Muster neither runs nor converts: what is said of each."""

import pytest

from muster.api.manifest.problems import ManifestError
from muster.kinds.manifests.conversion import convert
from muster.kinds.manifests.converters import CONVERTERS
from muster.kinds.manifests.load import load_any
from muster.kinds.registry import WATCHED_KINDS

LABELLED = "give them the label muster.dev/observe, and musterd watches over them (--watch-kinds pods)"
WATCHED = {
    f"{kind.subject.api_version} {kind.subject.kind}": name
    for name, kind in WATCHED_KINDS.items()
    if not kind.virtual and kind.subject.kind not in CONVERTERS
}


def said(kind: str) -> tuple[str, str]:
    version, name = kind.split()
    text = f"apiVersion: {version}\nkind: {name}\nmetadata: {{name: x}}\nspec: {{}}\n"
    found = []
    for read in (load_any, convert):
        with pytest.raises(ManifestError) as refused:
            read(text, filename="f.yaml")
        (problem,) = refused.value.problems
        assert (problem.line, problem.field) == (2, "kind")
        found.append(f"{problem.message}, {problem.hint}")
    return found[0], found[1]


def test_the_table_has_the_kinds_that_are_watched_and_not_converted() -> None:
    assert set(WATCHED.values()) == {"jobs", "leaderworkersets", "mpijobs", "vcjobs"}


@pytest.mark.parametrize("kind", WATCHED)
def test_a_kind_that_can_be_watched_is_reported_to_be(kind: str) -> None:
    run, converted = said(kind)
    version, name = kind.split()
    assert run.startswith(f"{name} of {version} is not run by Muster, musterd watches over it")
    assert converted.startswith(f"{name} of {version} cannot be converted, musterd watches over it")
    assert f"--watch-kinds {WATCHED[kind]};" in run
    assert "did you mean" not in run + converted


@pytest.mark.parametrize(
    "kind",
    [
        *("kubeflow.org/v1 TFJob", "kubeflow.org/v1 PaddleJob", "ray.io/v1 RayService", "ray.io/v1 RayCronJob"),
        *("kubernetes.dask.org/v1 DaskJob", "apps/v1 StatefulSet", "sparkoperator.k8s.io/v1beta2 SparkApplication"),
        *("batch/v1 CronJob", "trainer.kubeflow.org/v1alpha1 ClusterTrainingRuntime", "v1 Pod"),
    ],
)
def test_the_pods_of_any_other_kind_can_be_watched_by_their_label(kind: str) -> None:
    for sentence in said(kind):
        assert f"where it makes pods, {LABELLED}" in sentence
        assert "did you mean" not in sentence


@pytest.mark.parametrize(
    ("kind", "meant"), [("ray.io/v1 RayJobs", "RayJob"), ("kubeflow.org/v1 PytorchJob", "PyTorchJob")]
)
def test_a_kind_that_is_misspelled_in_its_own_group_is_corrected(kind: str, meant: str) -> None:
    assert all(sentence.endswith(f"did you mean {meant}?") for sentence in said(kind))


@pytest.mark.parametrize("version", ["muster.dev/v1alpha1", "0.2.3", '"\\u001b[31m/v1"', "[a]"])
def test_what_is_no_object_of_another_controller_is_answered_as_before(version: str) -> None:
    with pytest.raises(ManifestError) as refused:
        load_any(f"apiVersion: {version}\nkind: Thing\n", filename="f.yaml")
    assert "watches over" not in str(refused.value)
