"""What is expected of Jobs, JAXJobs and TrainJobs of their own controllers, and what their statuses say."""

from typing import Any

import pytest

from muster.kinds.declaration import Claim, Place, PlanError, PodFacts
from muster.kinds.job import watched as job
from muster.kinds.kubeflow.watched import INDEX, LABEL
from muster.kinds.planning.watched_plan import MOST_CONDITIONS, condition_of, number_of, started_of
from muster.kinds.registry import WATCHED_KINDS
from muster.kinds.trainjob import watched as trainjob
from muster.state.vocabulary.group import ProbeKind
from tests.builders import sure

LABELLED = {"labels": {"muster.dev/observe": "yes"}}
CREATED = "2026-01-01T00:00:00Z"
AT = 1767225600.0
JAXJOBS = WATCHED_KINDS["jaxjobs"]


def an_object(kind: str, spec: Any, **metadata: Any) -> dict[str, Any]:
    known = {"name": "train", "namespace": "team", "uid": "u-1", "creationTimestamp": CREATED}
    return {"kind": kind, "metadata": known | metadata, "spec": spec}


def with_status(status: Any) -> dict[str, Any]:
    return an_object("Job", {}) | {"status": status}


def condition(kind: str, status: str = "True", **more: Any) -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": "Why", "message": "its own words"} | more


def pod(labels: dict[str, str], kind: str = "Job", **annotations: str) -> PodFacts:
    return PodFacts("p", "team", labels, annotations, kind, "train", "u-1")


@pytest.mark.parametrize(
    ("spec", "size", "at_a_time"),
    [
        ({}, 1, 1),
        ({"parallelism": 3}, 3, 3),
        ({"completions": 5, "parallelism": 2}, 5, 2),
        ({"completions": 2, "parallelism": 9}, 2, 2),
        ({"completions": -1}, 0, 0),
    ],
)
def test_a_job_has_as_many_members_as_pods_that_end(spec: dict[str, Any], size: int, at_a_time: int) -> None:
    plan = job.plan_of(an_object("Job", spec))
    assert (plan.title, plan.size, plan.groups[0].parallelism) == ("job/train", size, at_a_time)


def test_the_stated_size_of_a_job_comes_before_its_spec() -> None:
    stated = an_object("Job", {"completions": 5}, annotations={"muster.dev/size": "3"})
    assert job.plan_of(stated).size == 3


@pytest.mark.parametrize(
    ("metadata", "spec", "wanted"),
    [
        (LABELLED, {}, True),
        ({}, {"template": {"metadata": LABELLED}}, True),
        ({}, {"template": {"metadata": {"labels": {}}}}, False),
        ({}, {"template": {"metadata": {}}}, False),
        ({}, {"template": {}}, False),
        ({"labels": "x"}, {}, False),
        ({}, {"template": "x"}, False),
    ],
)
def test_a_job_is_watched_over_by_its_label_or_that_of_its_pods(metadata: Any, spec: Any, wanted: bool) -> None:
    assert job.wanted(an_object("Job", spec, **metadata)) is wanted


def test_a_pod_of_a_job_has_the_place_of_its_index() -> None:
    labels = {job.NAME: "train", job.LABEL: "u-1"}
    assert job.place_of(pod(labels | {job.INDEX: "4"})) == Place("job/train", "worker", 0, 4, uid="u-1")
    assert job.place_of(pod(labels, **{job.INDEX: "4"})) == Place("job/train", "worker", 0, 4, uid="u-1")
    assert job.place_of(pod(labels)) == Place("job/train", "worker", 0, -1, uid="u-1")
    assert job.place_of(pod({job.LABEL: "u-1"})) is None
    assert job.place_of(pod(labels, kind="JobSet")) is None


def a_jaxjob(workers: Any, name: str = "Worker", **spec: Any) -> dict[str, Any]:
    return an_object("JAXJob", {"jaxReplicaSpecs": {name: workers}, **spec})


@pytest.mark.parametrize(("workers", "size"), [({}, 1), ({"replicas": 4}, 4), ({"replicas": -2}, 0)])
def test_the_members_of_a_jaxjob_are_its_workers(workers: dict[str, Any], size: int) -> None:
    plan = JAXJOBS.plan_of(a_jaxjob(workers))
    assert (plan.title, plan.size) == ("jaxjob/train", size)
    assert JAXJOBS.plan_of(a_jaxjob(workers, "worker")).size == size, "the type is written in any case"


@pytest.mark.parametrize(
    ("template", "port"),
    [
        ({}, 6666),
        ({"spec": {"containers": [{"name": "jax"}]}}, 6666),
        ({"spec": {"containers": [{"name": "jax", "ports": [{"name": "jaxjob-port", "containerPort": 7}]}]}}, 7),
        ({"spec": {"containers": [{"name": "jax", "ports": [{"name": "jaxjob-port", "containerPort": 0}]}]}}, 6666),
        ({"spec": {"containers": [{"name": "jax", "ports": [{"name": "other", "containerPort": 7}]}]}}, 6666),
        ({"spec": {"containers": [{"name": "log", "ports": [{"name": "jaxjob-port", "containerPort": 7}]}]}}, 6666),
    ],
)
def test_the_coordinator_of_a_jaxjob_listens_at_its_named_port(template: dict[str, Any], port: int) -> None:
    head = sure(JAXJOBS.plan_of(a_jaxjob({"replicas": 2, "template": template})).coordinator)
    assert (head.rank, head.port, head.probe) == (0, port, ProbeKind.JAX)


@pytest.mark.parametrize("obj", [a_jaxjob({}, "Master"), a_jaxjob({"replicas": 10**9}), an_object("JAXJob", {})])
def test_a_jaxjob_without_a_plan_says_why(obj: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match="jaxReplicaSpecs"):
        JAXJOBS.plan_of(obj)


def test_a_worker_of_a_jaxjob_has_the_place_of_its_index() -> None:
    labels = {LABEL: "train", INDEX: "1"}
    assert JAXJOBS.pods[0].place_of(pod(labels, "JAXJob")) == Place("jaxjob/train", "worker", 0, 1, uid="u-1")
    assert JAXJOBS.pods[0].place_of(pod(labels, "PyTorchJob")) is None
    assert JAXJOBS.pods[0].place_of(pod({}, "JAXJob")) is None


@pytest.mark.parametrize(
    ("runtime", "probe"), [("torch-distributed", ProbeKind.TORCH), ("jax-distributed", ProbeKind.JAX)]
)
def test_the_runtime_of_a_trainjob_says_what_runs(runtime: str, probe: ProbeKind) -> None:
    obj = an_object("TrainJob", {"runtimeRef": {"name": runtime}, "trainer": {"numNodes": 4}})
    head = sure(trainjob.plan_of(obj).coordinator)
    assert (trainjob.plan_of(obj).size, head.probe, head.port) == (4, probe, 29500)
    assert trainjob.DECLARED[0].claims(obj) == (Claim("jobset/train"),)


def test_the_size_of_a_trainjob_is_stated_or_one() -> None:
    assert trainjob.plan_of(an_object("TrainJob", {})).size == 1
    with pytest.raises(PlanError, match="numNodes"):
        trainjob.plan_of(an_object("TrainJob", {"trainer": {"numNodes": 10**9}}))


def test_only_the_first_conditions_are_read() -> None:
    many = [condition("Other")] * MOST_CONDITIONS + [condition("Failed")]
    assert condition_of(with_status({"conditions": many}), "Failed") is None
    assert condition_of(with_status({"conditions": many[1:]}), "Failed") is not None


def test_an_object_starts_with_its_start_time_its_resumption_or_its_creation() -> None:
    resumed = {"conditions": [condition("Suspended", "False", lastTransitionTime="2026-01-01T00:01:00Z")]}
    assert started_of(with_status(resumed)) == AT + 60
    assert started_of(with_status(resumed | {"startTime": "2026-01-01T00:02:00Z"})) == AT + 120
    assert started_of({"metadata": None, "status": {"startTime": "nonsense"}}) is None
    assert number_of({"status": {"restarts": 3}}, "restarts") == 3
    assert number_of({"status": {"restarts": True}}, "restarts") == 0
