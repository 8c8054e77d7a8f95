"""Every deadline that a manifest of another controller states is that of the Experiment, or is named as lost."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.api.manifest.problems import ManifestError
from muster.kinds.manifests.conversion import Conversion, convert
from muster.kinds.manifests.converters import CONVERTERS

CORPUS = Path(__file__).parent / "corpus"
JOB = "spec replicatedJobs 0 template spec"
OF_THE_RUN = {
    "JAXJob": ("jaxjob", ["spec runPolicy"]),
    "JobSet": ("jobset-one-group", ["spec", JOB]),
    "PyTorchJob": ("pytorchjob", ["spec runPolicy"]),
    "RayCluster": ("raycluster", []),
    "RayJob": ("rayjob", ["spec"]),
    "TrainJob": ("trainjob", ["spec"]),
    "XGBoostJob": ("xgboostjob", ["spec runPolicy"]),
}
"""By kind: a manifest of it, and where it has ``activeDeadlineSeconds``."""
OF_A_POD = {
    "JAXJob": "spec jaxReplicaSpecs Worker template spec",
    "JobSet": f"{JOB} template spec",
    "PyTorchJob": "spec pytorchReplicaSpecs Worker template spec",
    "RayCluster": "spec headGroupSpec template spec",
    "RayJob": "spec rayClusterSpec headGroupSpec template spec",
    "XGBoostJob": "spec xgbReplicaSpecs Worker template spec",
}
"""The pod template of members; a TrainJob has none."""
PLACES = [(kind, place) for kind, (_, places) in OF_THE_RUN.items() for place in places]


def converted(kind: str, seconds: dict[str, int]) -> Conversion:
    """The manifest of that kind with deadlines at these places, converted."""
    whole: Any = yaml.safe_load((CORPUS / f"{OF_THE_RUN[kind][0]}.yaml").read_text())
    for place, number in seconds.items():
        here = whole
        for part in place.split():
            here = here.setdefault(part, {}) if isinstance(here, dict) else here[int(part)]
        here["activeDeadlineSeconds"] = number
    return convert(yaml.safe_dump(whole))


def test_the_table_has_every_kind_that_is_converted() -> None:
    assert OF_THE_RUN.keys() == OF_A_POD.keys() | {"TrainJob"} == CONVERTERS.keys()


@pytest.mark.parametrize(("kind", "place"), PLACES)
def test_the_deadline_of_a_run_is_kept(kind: str, place: str) -> None:
    found = converted(kind, {place: 5_400})
    assert found.kind == kind
    assert found.document["spec"]["activeDeadlineSeconds"] == 5_400
    assert not any("DeadlineSeconds" in each.field for each in found.losses)


@pytest.mark.parametrize(("kind", "place"), PLACES)
def test_a_deadline_of_no_seconds_is_refused_with_its_place(kind: str, place: str) -> None:
    with pytest.raises(ManifestError) as refused:
        converted(kind, {place: 0})
    (problem,) = refused.value.problems
    assert problem.field.endswith("activeDeadlineSeconds"), kind
    assert problem.message == "0 is no deadline"


@pytest.mark.parametrize("kind", OF_A_POD)
def test_the_deadline_of_a_pod_is_named_as_lost_with_the_field_to_set(kind: str) -> None:
    found = converted(kind, {OF_A_POD[kind]: 5_400})
    lost = [each for each in found.losses if each.field.endswith("activeDeadlineSeconds")]
    assert [each.hint for each in lost] == ["set spec.timeout"]


def test_of_several_deadlines_the_shortest_holds_and_what_it_is_of_is_reported() -> None:
    found = converted("JobSet", {JOB: 900, "spec": 3_600})
    assert found.document["spec"]["activeDeadlineSeconds"] == 900
    (said,) = [each for each in found.notes if each.field.endswith("activeDeadlineSeconds")]
    assert said.message == "the deadline is of the whole experiment; here it is of each Job, in each of its attempts"
    assert converted("JobSet", {JOB: 3_600, "spec": 900}).document["spec"]["activeDeadlineSeconds"] == 900
