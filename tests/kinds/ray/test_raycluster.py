"""What is expected of a RayCluster that KubeRay runs, where its pods belong, and what its status says."""

from typing import Any

import pytest

from muster.kinds.declaration import Place, PlanError, PodFacts
from muster.kinds.ray.raycluster import own_state, place_of, plan_of
from muster.state.view.own import OwnVerdict
from muster.state.vocabulary.group import Completeness, ProbeKind
from muster.state.vocabulary.plan import Engine
from tests.builders import sure


def cluster(*groups: dict[str, Any], head: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "rc", "namespace": "team", "uid": "u-1", "generation": 3}
    whole = {"headGroupSpec": {"rayStartParams": {}, **(head or {})}, "workerGroupSpecs": list(groups), **spec}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata, "spec": whole}


def group(name: str, replicas: int | None = 1, **more: Any) -> dict[str, Any]:
    return {"groupName": name, "replicas": replicas, "minReplicas": 0, "maxReplicas": 10, **more}


def sizes(obj: dict[str, Any]) -> dict[str, tuple[int, int, int]]:
    return {each.name: (each.first_rank, each.replicas, each.completions) for each in plan_of(obj).groups}


def pod(labels: dict[str, str], **more: str) -> PodFacts:
    return PodFacts("p", "team", {f"ray.io/{key}": value for key, value in labels.items()}, {}, **more)


def test_the_members_are_the_head_and_every_host_of_every_replica() -> None:
    obj = cluster(group("cpu", 3), group("tpu", 2, numOfHosts=4))
    assert sizes(obj) == {"headgroup": (0, 1, 1), "cpu": (1, 1, 3), "tpu": (4, 2, 4)}
    plan = plan_of(obj)
    assert (plan.engine, plan.title, plan.size, plan.lifecycle.suspend) == (Engine.WATCH, "raycluster/rc", 12, False)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (group("w", 2), 2),
        (group("w", None, minReplicas=1), 1),
        (group("w", 1, minReplicas=2), 2),
        (group("w", 9, maxReplicas=4), 4),
        ({"groupName": "w", "replicas": 2}, 2),
        (group("w", 0), 0),
        (group("w", 5, suspend=True), 0),
    ],
)
def test_replicas_are_those_that_kuberay_makes(asked: dict[str, Any], expected: int) -> None:
    assert plan_of(cluster(asked)).size == 1 + expected


def test_the_head_is_asked_over_http_and_members_go_on_one_by_one() -> None:
    head = sure(plan_of(cluster(group("w"))).coordinator)
    assert (head.rank, head.port, head.probe, head.complete) == (0, 6379, ProbeKind.RAY, Completeness.ARRIVED)
    assert [(port.name, port.number) for port in head.ports] == [("dashboard", 8265), ("agent", 52365)]


def test_ports_are_those_that_the_head_is_started_with() -> None:
    params = {"port": "6380", "dashboard-port": "'8266'", "dashboard-agent-listen-port": "nonsense"}
    head = sure(plan_of(cluster(head={"rayStartParams": params})).coordinator)
    assert (head.port, [port.number for port in head.ports]) == (6380, [8266, 52365])


def test_a_head_without_a_dashboard_cannot_be_asked() -> None:
    dumb = plan_of(cluster(head={"rayStartParams": {"include-dashboard": "false"}}))
    assert dumb.dashboard_address(0) == ""
    assert plan_of(cluster()).dashboard_address(0) == ":8265"
    head = sure(dumb.coordinator)
    assert head.probe is ProbeKind.NONE


@pytest.mark.parametrize("spec", [{}, {"authOptions": {"mode": "token"}}])
def test_a_token_is_used_where_the_template_holds_it(spec: dict[str, Any]) -> None:
    env = [{"name": "RAY_AUTH_TOKEN", "value": "s3cret"}]
    mode = [] if spec else [{"name": "RAY_AUTH_MODE", "value": "token"}]
    head = {"template": {"spec": {"containers": [{"name": "ray-head", "env": env + mode}]}}}
    known, secret = plan_of(cluster(head=head, **spec)).coordinator, plan_of(cluster(**spec)).coordinator
    assert known is not None
    assert secret is not None
    assert (known.token, secret.token) == ("s3cret", "")


def test_with_an_autoscaler_its_latest_wish_is_expected_and_said() -> None:
    obj = cluster(group("gpu", 2, minReplicas=1, maxReplicas=8), enableInTreeAutoscaling=True)
    assert plan_of(obj).size == 3
    assert plan_of(obj).notice == "the autoscaler wants these replicas now: gpu 2 (1 to 8)"
    assert plan_of(cluster(group("gpu", 2))).notice == ""


def test_a_spec_of_other_types_gives_no_plan() -> None:
    with pytest.raises(PlanError, match=r"spec: Expected `int \| null`, got `str` - at .*replicas"):
        plan_of(cluster(group("w", "two")))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("labels", "place"),
    [
        ({"group": "headgroup", "node-type": "head"}, ("headgroup", 0, 0)),
        ({"group": "w", "worker-group-replica-index": "2"}, ("w", 0, 2)),
        ({"group": "w"}, ("w", 0, -1)),
        ({"group": "w", "worker-group-replica-index": "1", "replica-host-index": "3"}, ("w", 1, 3)),
        ({"group": "w", "worker-group-replica-index": "-7"}, ("w", 0, -1)),
    ],
)
def test_a_place_is_group_replica_and_host(labels: dict[str, str], place: tuple[str, int, int]) -> None:
    found = place_of(pod({"cluster": "rc", **labels}, kind="RayCluster", owner="rc", owner_uid="u-1"))
    assert found == Place("raycluster/rc", *place, uid="u-1")


def test_a_pod_without_a_group_or_a_cluster_has_no_place() -> None:
    assert place_of(pod({"cluster": "rc"})) is None
    assert place_of(pod({"group": "w"})) is None


def test_state_is_not_believed_and_a_suspension_is_what_the_spec_says() -> None:
    resuming = {**cluster(), "status": {"state": "suspended"}}
    suspending = {**cluster(suspend=True), "status": {"state": "ready"}}
    assert own_state(resuming).verdict is OwnVerdict.NOTHING
    assert own_state(suspending).verdict is OwnVerdict.SUSPENDED
    assert plan_of(suspending).lifecycle.suspend


def test_what_keeps_the_operator_from_making_pods_is_reported() -> None:
    condition = {
        "type": "ReplicaFailure",
        "status": "True",
        "reason": "FailedCreateWorkerPod",
        "message": "exceeded quota: gpus",
    }
    own = own_state({**cluster(), "status": {"conditions": [None, condition]}})
    assert (own.verdict, own.reason, own.message) == (
        OwnVerdict.NOTHING,
        "FailedCreateWorkerPod",
        "exceeded quota: gpus",
    )
    condition["status"] = "False"
    assert own_state({**cluster(), "status": {"conditions": [condition]}}).reason == ""
