"""What cannot become an Experiment is refused with its place, and no manifest ends in an exception."""

import contextlib
import copy
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from muster.api.manifest.problems import ManifestError
from muster.kinds.manifests.conversion import convert
from tests.kinds.convert.test_every_field import holder_of, places

CORPUS = {path.stem: path.read_text() for path in sorted((Path(__file__).parent / "corpus").glob("*.yaml"))}


_IMAGE = "tree:3\n                  command: [python3, w"
_OTHER = "tree:4\n                  command: [python3, w"


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("jobset-one-group", "command: [sh, -c,", "args: [", "args without a command"),
        ("jobset-one-group", "replicatedJobs:\n    - name: trial", "other:\n    - name: trial", "an empty JobSet"),
        ("jobset-one-group", "v1alpha2", "v1", "is not the version of JobSet that is read"),
        ("jobset-one-group", "replicas: 4", "replicas: -4", "-4 is negative"),
        ("jobset-one-group", "cpu: 500m", "cpu: many", "is not a Kubernetes quantity"),
        ("jobset-one-group", "name: trial\n      r", "name: Trial\n      r", "'Trial' is not"),
        ("jobset-leader-and-workers", _IMAGE, _OTHER, "that of the first group"),
        ("jaxjob", "Worker:", "Chief:", "there is no Worker"),
        ("rayjob", "entrypoint: python tune.py --trials 20", "jobId: x", "there is no entrypoint"),
        ("rayjob", "rayClusterSpec:", "clusterSelector:", "an Experiment brings its own cluster"),
        ("trainjob", "jax-distributed", "in-house", "its name contains no framework"),
        ("trainjob", "image: registry.example.org/fit:1", "numProcPerNode: 1", "image or command is the runtime's"),
        ("trainjob", "TrainJob", "TFJob", "TFJob of trainer.kubeflow.org/v1alpha1 cannot be"),
    ],
)  # fmt: skip
def test_a_manifest_that_cannot_become_an_experiment(name: str, old: str, new: str, said: str) -> None:
    assert old in CORPUS[name]
    with pytest.raises(ManifestError, match=said) as raised:
        convert(CORPUS[name].replace(old, new), filename="x.yaml")
    assert all(problem.line and problem.column for problem in raised.value.problems), str(raised.value)


WRONG = st.sampled_from(
    [None, 0, -1, 10**12, 1.5, True, "", "x", "$(x)", [], [1], [None], {}, {"a": None}, {"name": 1}]
)


@given(st.data())
def test_a_wrong_value_anywhere_is_converted_or_refused(data: st.DataObject) -> None:
    document = copy.deepcopy(yaml.safe_load(CORPUS[data.draw(st.sampled_from(sorted(CORPUS)))]))
    place = data.draw(st.sampled_from(list(places(document))))
    holder_of(document, place)[place[-1]] = data.draw(WRONG)
    with contextlib.suppress(ManifestError):
        assert convert(yaml.safe_dump(document), filename="x.yaml").document["spec"]
