"""What is expected of a JobSet that its own controller runs, where its pods belong, and what its status says."""

from typing import Any

import pytest

from muster.kinds.declaration import Place, PlanError, PodFacts
from muster.kinds.job.watched import INDEX
from muster.kinds.jobset import watched as jobset
from muster.state.vocabulary.rules import Gate, GateCondition


def job(name: str, replicas: int | None = None, pods: int = 1, **more: Any) -> dict[str, Any]:
    shape = {"completions": pods, "parallelism": pods}
    return {"name": name, "replicas": replicas, "template": {"spec": shape}, **more}


def a_jobset(*jobs: dict[str, Any], status: Any = None, port: str = "", **spec: Any) -> dict[str, Any]:
    annotations = {"muster.dev/coordinator-port": port} if port else {}
    metadata = {"name": "train", "namespace": "team", "uid": "u-1", "annotations": annotations}
    return {"metadata": metadata, "spec": {"replicatedJobs": list(jobs), **spec}, "status": status}


def pod(labels: dict[str, str], **annotations: str) -> PodFacts:
    return PodFacts("p", "team", {f"{jobset.PREFIX}{key}": value for key, value in labels.items()}, annotations)


def test_a_member_is_each_pod_of_each_job() -> None:
    plan = jobset.plan_of(a_jobset(job("leader"), job("workers", 2, 4), job("off", 0)))
    sizes = {each.name: (each.first_rank, each.replicas, each.completions) for each in plan.groups}
    assert sizes == {"leader": (0, 1, 1), "workers": (1, 2, 4), "off": (9, 0, 1)}
    assert (plan.title, plan.size) == ("jobset/train", 9)


def test_a_group_waits_for_what_its_jobset_says() -> None:
    ready, complete = {"name": "a", "status": "Ready"}, {"name": "a", "status": "Complete"}
    other = {"name": "a", "status": "Other"}
    plan = jobset.plan_of(a_jobset(job("a"), job("b", dependsOn=[ready]), job("c", dependsOn=[complete, other])))
    gates = [each.gates for each in plan.groups]
    assert gates == [(), (Gate(GateCondition.READY, "a"),), (Gate(GateCondition.COMPLETE, "a"),)]
    ordered = jobset.plan_of(a_jobset(job("a"), job("b"), startupPolicy={"startupPolicyOrder": "InOrder"}))
    assert [each.gates for each in ordered.groups] == [(), (Gate(GateCondition.READY, "a"),)]


@pytest.mark.parametrize(
    ("stated", "rank"),
    [
        (None, 0),
        ({"replicatedJob": "workers"}, 1),
        ({"replicatedJob": "workers", "jobIndex": 1, "podIndex": 2}, 7),
        ({"replicatedJob": "workers", "jobIndex": 2}, 0),
        ({"replicatedJob": "unknown"}, 0),
    ],
)
def test_the_coordinator_is_the_stated_pod_or_the_first(stated: Any, rank: int) -> None:
    head = jobset.plan_of(a_jobset(job("leader"), job("workers", 2, 4), coordinator=stated, port="1234")).coordinator
    assert head is not None
    assert (head.rank, head.port) == (rank, 1234)


def test_a_jobset_without_a_stated_port_has_no_coordinator() -> None:
    assert jobset.plan_of(a_jobset(job("a", pods=2))).coordinator is None


@pytest.mark.parametrize("jobs", [(job("a"), job("a")), (job("a", 10**6),), (job("a", pods=10**6),), ({"name": 3},)])
def test_a_jobset_without_a_plan_says_why(jobs: tuple[dict[str, Any], ...]) -> None:
    with pytest.raises(PlanError, match="replicatedJobs"):
        jobset.plan_of(a_jobset(*jobs))


def test_a_pod_has_the_place_and_the_epoch_of_its_labels() -> None:
    labels = {"jobset-name": "train", "replicatedjob-name": "w", "job-index": "1", "jobset-uid": "u-1"}
    epoch = {"restart-attempt": "2"}
    placed = jobset.place_of(pod(labels | epoch, **{INDEX: "3"}))
    assert placed == Place("jobset/train", "w", 1, 3, epoch=2, uid="u-1")
    assert jobset.place_of(pod(labels)) == Place("jobset/train", "w", 1, -1, epoch=0, uid="u-1")
    assert jobset.place_of(pod({"jobset-name": "train"})) is None
    assert jobset.place_of(pod({"replicatedjob-name": "w"})) is None


def test_the_restarts_of_a_jobset_are_its_epoch() -> None:
    assert jobset.own_state(a_jobset(status={"restarts": 2})).epoch == 2
