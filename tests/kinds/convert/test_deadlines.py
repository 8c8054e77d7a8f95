"""Every deadline that a manifest of another controller states is that of the Experiment, or is named as lost."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.api.manifest.problems import ManifestError
from muster.kinds.manifests.conversion import Conversion, convert
from muster.kinds.manifests.converters import CONVERTERS

Loc = tuple[str | int, ...]
CORPUS = Path(__file__).parent / "corpus"
JOB: Loc = ("spec", "replicatedJobs", 0, "template", "spec")
RUN: Loc = ("spec", "runPolicy")
OF_THE_RUN: dict[str, tuple[str, tuple[Loc, ...]]] = {
    "JAXJob": ("jaxjob", (RUN,)),
    "JobSet": ("jobset-one-group", (("spec",), JOB)),
    "PyTorchJob": ("pytorchjob", (RUN,)),
    "RayCluster": ("raycluster", ()),
    "RayJob": ("rayjob", (("spec",),)),
    "TrainJob": ("trainjob", (("spec",),)),
    "XGBoostJob": ("xgboostjob", (RUN,)),
}
"""By kind: a manifest of it, and where it has ``activeDeadlineSeconds``."""
OF_A_POD: dict[str, Loc] = {
    "JAXJob": ("spec", "jaxReplicaSpecs", "Worker", "template", "spec"),
    "JobSet": (*JOB, "template", "spec"),
    "PyTorchJob": ("spec", "pytorchReplicaSpecs", "Worker", "template", "spec"),
    "RayCluster": ("spec", "headGroupSpec", "template", "spec"),
    "RayJob": ("spec", "rayClusterSpec", "headGroupSpec", "template", "spec"),
    "XGBoostJob": ("spec", "xgbReplicaSpecs", "Worker", "template", "spec"),
}
"""The pod template of members; a TrainJob has none."""
PLACES = [(kind, file, at) for kind, (file, places) in OF_THE_RUN.items() for at in places]


def document(file: str) -> Any:
    return yaml.safe_load((CORPUS / f"{file}.yaml").read_text())


def put(whole: Any, at: Loc, seconds: int) -> Any:
    here = whole
    for part in at:
        here = here.setdefault(part, {}) if isinstance(here, dict) else here[part]
    here["activeDeadlineSeconds"] = seconds
    return whole


def converted(whole: Any) -> Conversion:
    return convert(yaml.safe_dump(whole))


def test_the_table_has_every_kind_that_is_converted() -> None:
    assert OF_THE_RUN.keys() == CONVERTERS.keys()
    assert OF_A_POD.keys() | {"TrainJob"} == CONVERTERS.keys()


@pytest.mark.parametrize(("kind", "file", "at"), PLACES)
def test_the_deadline_of_a_run_is_kept(kind: str, file: str, at: Loc) -> None:
    found = converted(put(document(file), at, 5_400))
    assert found.kind == kind
    assert found.document["spec"]["activeDeadlineSeconds"] == 5_400
    assert not any("DeadlineSeconds" in each.field for each in found.losses)


@pytest.mark.parametrize(("kind", "file", "at"), PLACES)
def test_a_deadline_of_no_seconds_is_refused_with_its_place(kind: str, file: str, at: Loc) -> None:
    with pytest.raises(ManifestError) as refused:
        converted(put(document(file), at, 0))
    (problem,) = refused.value.problems
    assert problem.field.endswith("activeDeadlineSeconds"), kind
    assert problem.message == "0 is no deadline"


@pytest.mark.parametrize("kind", OF_A_POD)
def test_the_deadline_of_a_pod_is_named_as_lost_with_the_field_to_set(kind: str) -> None:
    found = converted(put(document(OF_THE_RUN[kind][0]), OF_A_POD[kind], 5_400))
    lost = [each for each in found.losses if each.field.endswith("activeDeadlineSeconds")]
    assert [each.hint for each in lost] == ["set spec.timeout"]


def test_of_several_deadlines_the_shortest_holds_and_what_it_is_of_is_said() -> None:
    found = converted(put(put(document("jobset-one-group"), JOB, 900), ("spec",), 3_600))
    assert found.document["spec"]["activeDeadlineSeconds"] == 900
    (said,) = [each for each in found.notes if each.field.endswith("activeDeadlineSeconds")]
    assert said.message == "the deadline is of the whole experiment; here it is of each Job, in each of its attempts"
    found = converted(put(put(document("jobset-one-group"), JOB, 3_600), ("spec",), 900))
    assert found.document["spec"]["activeDeadlineSeconds"] == 900


def test_the_time_that_a_ray_job_has_to_start_is_the_clock_of_assembly() -> None:
    whole = document("rayjob")
    whole["spec"]["preRunningDeadlineSeconds"] = 600
    assert converted(whole).document["spec"]["clocks"]["assembly"]["after"] == "600s"
