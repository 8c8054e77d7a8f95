"""Pods with the label muster.dev/observe become one run, from what their labels and annotations say."""

from typing import Any

import pytest

from muster.api.errors import MusterError
from muster.kinds.declaration import Place, PodFacts
from muster.kinds.pods import LABELLED_PODS, OBSERVE, place_of
from muster.state.decide.machine import decide
from muster.state.view.own import OwnVerdict
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.record import Phase
from muster.state.vocabulary.rules import ClockAction, ClockName
from tests.builders import NOW, pod, record, sure, view

NO_PATHS = ("", "healthz", "http://10.0.0.9/", "/a b", "/a\r\nHost: b", "/a#b", "/é", 201 * "/", "/a\n")
"""What an http probe does not ask for."""


def facts(
    name: str = "train-0", *, kind: str = "", labels: dict[str, str] | None = None, **annotations: str
) -> PodFacts:
    stated = {f"muster.dev/{key}": value for key, value in annotations.items()}
    return PodFacts(name, "team", {OBSERVE: "run"} | (labels or {}), stated, kind)


def made(seen: int = 3, **annotations: str) -> dict[str, Any]:
    stated = {f"muster.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    metadata = {"name": "run", "namespace": "team", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {"kind": "Pods", "metadata": {**metadata, "annotations": stated}, "spec": {"sizes": {"worker": seen}}}


@pytest.mark.parametrize(
    ("pod", "index"),
    [
        (facts("train-2"), 2),
        (facts("train-x7k2p", rank="5"), 5),
        (facts("train-2", labels={"apps.kubernetes.io/pod-index": "7"}), 7),
        (facts("train-2", labels={"muster.dev/rank": "1"}), 1),
        (facts("train-abc"), -1),
        (facts("web-56789", kind="ReplicaSet"), -1),
        (facts("train-2", rank="-3"), -1),
        (facts("train-2", rank="99999999999"), -1),
        (facts("train-999999"), -1),
    ],
)
def test_the_index_of_a_pod_is_what_states_it_most_definitely(pod: PodFacts, index: int) -> None:
    assert place_of(pod) == Place("pods/run", "worker", 0, index)


def test_a_pod_without_the_label_has_no_place() -> None:
    assert place_of(PodFacts("train-0", "team", {}, {})) is None


def test_a_set_of_pods_is_as_large_as_it_says() -> None:
    assert LABELLED_PODS.plan_of(made(seen=2)).size == 2
    assert LABELLED_PODS.plan_of(made(seen=2, size="4")).size == 4


def test_a_set_of_pods_is_observed_under_its_title() -> None:
    plan = LABELLED_PODS.plan_of(made(operator="jax"))
    assert (plan.engine, plan.title, plan.operator) == (Engine.WATCH, "pods/run", "jax")
    assert plan.coordinator is not None
    assert (plan.coordinator.rank, plan.coordinator.port, plan.coordinator.probe) == (0, 1234, ProbeKind.JAX)
    assert [claim.owner for claim in LABELLED_PODS.claims(made())] == ["pods/run"]
    assert LABELLED_PODS.plan_of(made()).coordinator is None, "without an operator readiness is the roll"


@pytest.mark.parametrize(
    ("asked", "kind", "path"),
    [
        ({"operator": "none", "probe": "torch"}, ProbeKind.TORCH, ""),
        ({"probe": "tcp"}, ProbeKind.TCP, ""),
        ({"probe": "grpc"}, ProbeKind.GRPC, ""),
        ({"probe": "http"}, ProbeKind.HTTP, ""),
        ({"probe": "http", "probe_path": "/healthz?full=1"}, ProbeKind.HTTP, "/healthz?full=1"),
    ],
)
def test_kind_port_and_path_of_the_coordinators_probe_are_stated(
    asked: dict[str, str], kind: ProbeKind, path: str
) -> None:
    coordinator = sure(LABELLED_PODS.plan_of(made(3, coordinator_port="8080", **asked)).coordinator)
    assert (coordinator.rank, coordinator.probe, coordinator.port, coordinator.path) == (0, kind, 8080, path)


@pytest.mark.parametrize("probe", ["tcp", "grpc", "http"])
def test_a_single_pod_is_asked_by_a_probe_of_its_ports_alone(probe: str) -> None:
    coordinator = sure(LABELLED_PODS.plan_of(made(1, coordinator_port="8080", probe=probe)).coordinator)
    assert coordinator.probe == probe


def test_a_stated_probe_is_aimed_at_the_ip_of_the_coordinators_pod() -> None:
    plan = LABELLED_PODS.plan_of(made(probe="http", coordinator_port="80", probe_path="//169.254.169.254/latest"))
    pods = [pod(rank, ip=f"10.0.0.{rank + 1}") for rank in range(3)]
    target = sure(decide(plan, record(phase=Phase.ASSEMBLING, assembling_at=NOW), view(*pods), NOW).probe)
    assert (target.address, target.kind, target.path) == ("10.0.0.1:80", "http", "//169.254.169.254/latest")


@pytest.mark.parametrize(
    ("annotations", "words"),
    [
        ({"operator": "horovod"}, "muster.dev/operator: 'horovod' is not one of jax"),
        ({"probe": "ping"}, "muster.dev/probe: 'ping' is not one of"),
        ({"operator": "none", "probe": "jax"}, "needs a port"),
        ({"probe": "tcp"}, "muster.dev/probe: the probe tcp needs a port"),
        ({"probe": "exec", "coordinator_port": "80"}, "muster.dev/probe: 'exec' is not one of"),
        ({"probe": "tcp", "coordinator_port": "65536"}, "muster.dev/coordinator-port: '65536'"),
        ({"probe": "tcp", "coordinator_port": "80@10.0.0.9:22"}, "muster.dev/coordinator-port: '80@10.0.0.9:22'"),
        ({"probe": "tcp", "coordinator_port": "80", "probe_path": "/x"}, "muster.dev/probe-path: only the probe http"),
        *(
            ({"probe": "http", "coordinator_port": "80", "probe_path": path}, "muster.dev/probe-path: .* is not a path")
            for path in NO_PATHS
        ),
        ({"coordinator_port": "0"}, "muster.dev/coordinator-port: '0' is not a whole number from 1 to 65535"),
        ({"size": "1e9"}, "muster.dev/size"),
        ({"size": "100001"}, "muster.dev/size"),
        ({"total_deadline": "soon"}, "muster.dev/total-deadline: 'soon' is not a duration"),
        ({"on_deadline": "explode"}, "muster.dev/on-deadline: 'explode' is not one of suspend, delete"),
    ],
)
def test_a_wrong_annotation_is_named(annotations: dict[str, str], words: str) -> None:
    with pytest.raises(MusterError, match=words.replace("(", r"\(")):
        LABELLED_PODS.plan_of(made(3, **annotations))


def test_a_deadline_alerts_unless_an_action_is_asked_for() -> None:
    alerting = LABELLED_PODS.plan_of(made(total_deadline="1h")).clock(ClockName.TOTAL)
    ending = LABELLED_PODS.plan_of(made(total_deadline="1h", on_deadline="delete")).clock(ClockName.TOTAL)
    assert alerting is not None
    assert ending is not None
    assert (alerting.after, alerting.action, ending.action) == (3600.0, ClockAction.ALERT, ClockAction.FAIL)


def test_pods_have_no_state_in_common() -> None:
    state = LABELLED_PODS.own_state(made())
    assert (state.verdict, state.started_at) == (OwnVerdict.ASK_PODS, 1767225600.0)
