"""Operator kuberay: a head, worker groups that wait for it, and a submitter that waits for all of them."""

from typing import Any

import pytest

from muster.api.manifest.experiment import parse_experiment
from muster.api.manifest.operators import injected_env
from muster.api.manifest.problems import SpecError
from muster.api.names import SCRATCH_VOLUME
from muster.kinds.experiments import plan_of
from muster.kinds.ray.start import SUBMIT
from muster.reconcilers.render.objects import render_service
from muster.reconcilers.render.pod import render_pod
from muster.state.vocabulary.group import Completeness, Coordinator, ProbeKind, Role
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Port
from muster.state.vocabulary.rules import Gate, GateCondition, SuccessRule
from tests.builders import sure

TYPES: dict[str, Any] = {
    "Head": {"resources": {"cpus": 1, "memory": 2}},
    "Workers": [
        {"name": "cpu-small", "count": 2, "resources": {"cpus": 1, "memory": 1}},
        {"name": "cpu-big", "count": 1, "resources": {"cpus": 2, "memory": 3}},
    ],
}


def planned(types: Any = None, name: str = "run", **spec: Any) -> Plan:
    metadata = {"uid": "uid-1", "name": name, "namespace": "team", "generation": 1, "resourceVersion": "1"}
    said = {"operator": "kuberay", "image": "demo:1", "command": "python3 -u main.py && echo 'done'"}
    return plan_of(parse_experiment({"metadata": metadata, "spec": {**said, "types": types or TYPES, **spec}}))


def pod(plan: Plan, rank: int, epoch: int = 0) -> dict[str, Any]:
    member = sure(plan.member(rank))
    return render_pod(plan, member, epoch)


def main(plan: Plan, rank: int, epoch: int = 0) -> dict[str, Any]:
    container: dict[str, Any]
    (container,) = pod(plan, rank, epoch)["spec"]["containers"]
    return container


def env(plan: Plan, rank: int, epoch: int = 0) -> dict[str, Any]:
    """The variables as a container sees them, those of the pod's own fields left as they are."""
    seen: dict[str, Any] = {}
    for each in main(plan, rank, epoch)["env"]:
        value = each.get("value", each.get("valueFrom"))
        for name, text in seen.items():
            if isinstance(value, str) and isinstance(text, str):
                value = value.replace(f"$({name})", text)
        seen[each["name"]] = value
    return seen


def test_the_groups_are_the_head_the_workers_as_written_and_the_submitter() -> None:
    plan = planned()
    assert [(group.name, group.first_rank, group.size, group.role, *group.gates) for group in plan.groups] == [
        ("head", 0, 1, Role.HEAD),
        ("cpu-small", 1, 2, Role.WORKER, Gate(GateCondition.SERVING)),
        ("cpu-big", 3, 1, Role.WORKER, Gate(GateCondition.SERVING)),
        ("submitter", 4, 1, Role.SUBMITTER, Gate(GateCondition.ARRIVED)),
    ]
    assert plan.groups[-1].first_job == 3
    assert plan.success == SuccessRule(groups=("submitter",))


def test_the_head_is_the_coordinator_that_is_asked_over_http() -> None:
    assert planned().coordinator == Coordinator(
        rank=0, port=6379, probe=ProbeKind.RAY, complete=Completeness.ARRIVED, arrivals=60.0,
        ports=(Port("dashboard", 8265), Port("agent", 52365)),
        opened_by="`ray start --head` opens it: see the log of the head",
    )  # fmt: skip


def test_the_variables_are_those_of_kuberay_and_aichor() -> None:
    plan = planned()
    host = plan.coordinator_host(2)
    head, worker, submitter = (env(plan, rank, 2) for rank in (0, 1, 4))
    common = {
        "FQ_RAY_IP": host,
        "RAY_IP": host,
        "RAY_PORT": "6379",
        "RAY_CLUSTER_NAME": "run",
        "RAY_CLUSTER_NAMESPACE": "team",
        "RAY_CLOUD_INSTANCE_ID": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}},
    }
    for seen in (head, worker, submitter):
        assert seen.items() >= common.items()
    assert (head["RAY_NODE_TYPE_NAME"], head["RAY_ADDRESS"]) == ("headgroup", "127.0.0.1:6379")
    assert (worker["RAY_NODE_TYPE_NAME"], worker["RAY_ADDRESS"]) == ("cpu-small", f"{host}:6379")
    assert head["KUBERAY_GEN_RAY_START_CMD"].startswith("ray start --block --dashboard-agent-listen-port=52365 ")
    assert f"--address={host}:6379" in worker["KUBERAY_GEN_RAY_START_CMD"]
    assert submitter["RAY_DASHBOARD_ADDRESS"] == f"{host}:8265"
    assert submitter["RAY_JOB_SUBMISSION_ID"] == "run-2" == plan.submission(2)
    assert [env(plan, rank)["MUSTER_RANK"] for rank in range(5)] == ["0", "1", "2", "3", "4"]


def test_the_variables_a_template_cannot_set_are_those_that_are_injected() -> None:
    plan = planned()
    names = {name for rank in range(plan.size) for name in env(plan, rank) if not name.startswith("MUSTER_")}
    assert names == injected_env("kuberay")


def test_head_and_workers_run_ray_start_and_the_submitter_the_command() -> None:
    plan = planned()
    for rank, flag in ((0, "--head"), (1, "--address=$(FQ_RAY_IP):6379")):
        shell, c, script, _, *argv = main(plan, rank)["command"]
        assert (shell, c, argv[:2]) == ("/bin/sh", "-c", ["ray", "start"])
        assert script.endswith('exec "$@"')
        assert flag in argv
    assert main(plan, 4)["command"] == ["python3", "-u", "-c", SUBMIT, "python3 -u main.py && echo 'done'"]


def test_each_group_has_the_resources_that_it_asks_for() -> None:
    plan = planned()
    assert [main(plan, rank)["resources"]["requests"] for rank in (0, 1, 3, 4)] == [
        {"cpu": "1", "memory": "2G"},
        {"cpu": "1", "memory": "1G"},
        {"cpu": "2", "memory": "3G"},
        {"cpu": "500m", "memory": "1G"},
    ]


@pytest.mark.parametrize(
    ("params", "stated", "size"),
    [(None, 0, "1000000000"), (None, 2, "2000000000"), ({"plasma-directory": "/mnt", "temp-dir": "/mnt"}, 0, None)],
)
def test_ray_has_shared_memory_for_its_objects(params: Any, stated: int, size: str | None) -> None:
    worker = {"name": "w", "count": 1, "rayStartParams": params}
    resources = {"cpus": 1, "memory": 1, "shmSizeGB": stated}
    plan = planned({"Head": TYPES["Head"], "Workers": [{**worker, "resources": resources}]})
    volumes = {volume["name"]: volume for volume in pod(plan, 1)["spec"].get("volumes", [])}
    assert (volumes["shm"]["emptyDir"]["sizeLimit"] if volumes else None) == size
    assert "volumes" not in pod(plan, 2)["spec"], "the submitter keeps no objects"


MOUNT = {"name": "ray-logs", "mountPath": "/tmp/ray/"}


@pytest.mark.parametrize(
    ("params", "mounts", "scratch"), [(None, [], True), ({"temp-dir": "/data"}, [], False), (None, [MOUNT], False)]
)
def test_each_ray_node_has_a_directory_of_its_own_for_sockets_and_logs(
    params: Any, mounts: list[dict[str, str]], scratch: bool
) -> None:
    volumes = [{"name": "ray-logs", "emptyDir": {}}] if mounts else []
    template = {"spec": {"containers": [{"name": "main", "volumeMounts": mounts}], "volumes": volumes}}
    head = {**TYPES["Head"], "rayStartParams": params}
    plan = planned({**TYPES, "Head": head}, template=template if mounts else {})
    mounted = {mount["name"]: mount["mountPath"] for mount in main(plan, 0)["volumeMounts"]}
    assert mounted.get(SCRATCH_VOLUME) == ("/tmp/ray" if scratch else None)


def test_the_service_names_the_ports_that_people_ask() -> None:
    ports = render_service(planned())["spec"]["ports"]
    assert [(port["name"], port["port"]) for port in ports] == [
        ("coordinator", 6379), ("dashboard", 8265), ("agent", 52365),
    ]  # fmt: skip


def test_a_head_with_other_ports_is_asked_there() -> None:
    head = {**TYPES["Head"], "rayStartParams": {"port": "6380", "dashboard-port": "9000"}}
    plan = planned({**TYPES, "Head": head})
    assert (sure(plan.coordinator).port, plan.dashboard_address(0)) == (6380, f"{plan.coordinator_host(0)}:9000")
    assert env(plan, 1)["RAY_ADDRESS"].endswith(":6380")
    assert env(plan, 4)["RAY_DASHBOARD_ADDRESS"].endswith(":9000")


@pytest.mark.parametrize(
    ("variables", "token"),
    [
        ([{"name": "RAY_AUTH_MODE", "value": "token"}, {"name": "RAY_AUTH_TOKEN", "value": "s3cret"}], "s3cret"),
        ([{"name": "RAY_AUTH_TOKEN", "value": "s3cret"}], ""),
        (
            [
                {"name": "RAY_AUTH_MODE", "value": "token"},
                {"name": "RAY_AUTH_TOKEN", "valueFrom": {"secretKeyRef": {"name": "ray", "key": "auth_token"}}},
            ],
            "",
        ),
    ],
)
def test_a_token_in_the_pod_template_is_shown_to_the_head(variables: list[dict[str, Any]], token: str) -> None:
    plan = planned(template={"spec": {"containers": [{"name": "main", "env": variables}]}})
    assert plan.coordinator is not None
    assert plan.coordinator.token == token
    assert "s3cret" not in repr(plan.coordinator)


def test_a_cluster_of_a_head_alone_is_one() -> None:
    plan = planned({"Head": TYPES["Head"], "Workers": []})
    assert [group.name for group in plan.groups] == ["head", "submitter"]


def test_the_name_leaves_room_for_the_submitters_pod() -> None:
    short = {"Head": TYPES["Head"], "Workers": [{**TYPES["Workers"][0], "name": "w"}]}
    room = 63 - len("-submitter-0-0-xxxxx")
    assert len(planned(short, name="a" * room).pod_name(planned(short).groups[-1].member(0), 0)) <= 63
    with pytest.raises(SpecError, match="submitter-0-0-xxxxx"):
        planned(short, name="a" * (room + 1))
