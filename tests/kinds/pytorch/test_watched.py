"""PyTorchJobs of Kubeflow's training operator: their members, their coordinator, and what they say of themselves."""

from typing import Any

import pytest

from muster.kinds.declaration import Place, PlanError, PodFacts
from muster.kinds.kubeflow.watched import INDEX, LABEL, TYPE
from muster.kinds.registry import WATCHED_KINDS
from muster.state.vocabulary.group import ProbeKind

KIND = WATCHED_KINDS["pytorchjobs"]


def a_job(replicas: Any) -> dict[str, Any]:
    metadata = {"name": "train", "namespace": "team", "uid": "u-1"}
    return {"kind": "PyTorchJob", "metadata": metadata, "spec": {"pytorchReplicaSpecs": replicas}}


def pod(owner: str = "PyTorchJob", **labels: str) -> PodFacts:
    return PodFacts("train-x", "team", labels, {}, kind=owner, owner="train", owner_uid="u-1")


def test_the_master_is_rank_zero_and_worker_n_is_rank_n_plus_one() -> None:
    plan = KIND.plan_of(a_job({"Worker": {"replicas": 3}, "Master": {}}))
    assert [(group.name, group.first_rank, group.size) for group in plan.groups] == [("master", 0, 1), ("worker", 1, 3)]
    for group, index in (("master", 0), ("worker", 2)):
        placed = KIND.pods[0].place_of(pod(**{LABEL: "train", TYPE: group, INDEX: str(index)}))
        assert placed == Place("pytorchjob/train", group, 0, index, uid="u-1")


def test_the_master_is_asked_who_has_arrived_at_its_named_port() -> None:
    ports = [{"name": "pytorchjob-port", "containerPort": 7}]
    template = {"spec": {"containers": [{"name": "pytorch", "ports": ports}]}}
    for given, port in (({}, 23456), ({"template": template}, 7)):
        head = KIND.plan_of(a_job({"Master": given, "Worker": {"replicas": 1}})).coordinator
        assert head is not None
        assert (head.rank, head.port, head.probe) == (0, port, ProbeKind.TORCH)


def test_a_job_without_a_master_has_no_store_that_could_be_asked() -> None:
    assert KIND.plan_of(a_job({"Worker": {"replicas": 4}})).coordinator is None


@pytest.mark.parametrize("replicas", [None, [], {}, {"Chief": {}}, {"Worker": {"replicas": 10**9}}, {"Worker": 3}])
def test_a_job_without_a_plan_says_why(replicas: Any) -> None:
    with pytest.raises(PlanError, match="spec"):
        KIND.plan_of(a_job(replicas))


def test_pods_of_other_kinds_and_of_unknown_types_have_no_place() -> None:
    place_of = KIND.pods[0].place_of
    assert place_of(pod("JAXJob", **{LABEL: "train", TYPE: "worker", INDEX: "0"})) is None
    assert place_of(pod(**{LABEL: "train", TYPE: "chief", INDEX: "0"})) is None
    assert place_of(pod(**{TYPE: "worker", INDEX: "0"})) is None
