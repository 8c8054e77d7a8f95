"""``ray start``: the documented defaults, and what ``rayStartParams`` adds to them or puts in their place."""

import json
import os
import shlex
import subprocess
from typing import Any

import pytest

from muster.api.manifest.experiment import parse_experiment
from muster.api.manifest.groups import Group
from muster.api.manifest.problems import SpecError
from muster.kinds.ray.start import Ports, in_shell, ray_start

HEAD_ADDRESS = "$(FQ_RAY_IP):6379"


def asked(
    head: Any = None, worker: Any = None, head_resources: Any = None, worker_resources: Any = None
) -> tuple[Group, ...]:
    types = {
        "Head": {"resources": head_resources or {"cpus": 1, "memory": 2}, "rayStartParams": head},
        "Workers": [
            {
                "name": "cpu-small",
                "count": 2,
                "resources": worker_resources or {"cpus": 6, "ramRatio": 2},
                "rayStartParams": worker,
            }
        ],
    }
    spec = {"operator": "kuberay", "image": "demo", "command": "python main.py", "types": types}
    metadata = {"uid": "u", "name": "run", "namespace": "team", "generation": 1, "resourceVersion": "1"}
    return parse_experiment({"metadata": metadata, "spec": spec}).spec.groups


def flags(group: Group) -> dict[str, str | None]:
    """The flags by name; None is a bare one."""
    ray, start, *rest = ray_start(group, HEAD_ADDRESS)
    assert (ray, start) == ("ray", "start")
    assert rest == sorted(rest, key=lambda flag: flag.partition("=")[0])
    parts = (flag.removeprefix("--").partition("=") for flag in rest)
    return {name: value if equals else None for name, equals, value in parts}


HEAD_DEFAULTS: dict[str, str | None] = {
    "head": None,
    "resources": '{"head":100000}',
    "include-dashboard": "true",
    "dashboard-host": "0.0.0.0",
    "dashboard-agent-listen-port": "52365",
    "memory": "2000000000",
    "num-cpus": "1",
    "log-color": "true",
    "log-style": "pretty",
    "block": None,
    "metrics-export-port": "8080",
}
WORKER_DEFAULTS: dict[str, str | None] = {
    "address": HEAD_ADDRESS,
    "resources": '{"cpu-small":100000}',
    "memory": "12000000000",
    "num-cpus": "6",
    "log-color": "true",
    "log-style": "pretty",
    "block": None,
    "metrics-export-port": "8080",
}


@pytest.mark.parametrize("params", [None, {}])
def test_without_parameters_the_documented_defaults_hold(params: Any) -> None:
    head, worker = asked(params, params)
    assert flags(head) == HEAD_DEFAULTS
    assert flags(worker) == WORKER_DEFAULTS


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ({"num-cpus": "0"}, {"num-cpus": "0"}),
        ({"object-store-memory": "3000000000"}, {"object-store-memory": "3000000000"}),
        ({"ray-debugger-external": "true"}, {"ray-debugger-external": None}),
        ({"ray-debugger-external": "True"}, {"ray-debugger-external": None}),
        ({"disable-usage-stats": "false"}, {}),
        ({"disable-usage-stats": "False"}, {}),
        ({"log-color": "false"}, {"log-color": "false"}),
        ({"include-log-monitor": "false"}, {"include-log-monitor": "false"}),
        ({"metrics-export-port": "9090"}, {"metrics-export-port": "9090"}),
        ({"resources": '{"gpu-box": 2}'}, {"resources": '{"gpu-box": 2}'}),
        ({"resources": "'{\"gpu-box\": 2}'"}, {"resources": '{"gpu-box": 2}'}),
        ({"resources": '"{\\"gpu-box\\": 2}"'}, {"resources": '{"gpu-box": 2}'}),
        ({"node-name": "'two' 'words'"}, {"node-name": "'two' 'words'"}),
        ({"node-name": "'open"}, {"node-name": "'open"}),
        ({"node-name": ""}, {"node-name": ""}),
    ],
)
def test_a_parameter_adds_to_the_defaults_or_overrides_one(given: dict[str, str], changed: dict[str, Any]) -> None:
    _, worker = asked(worker=given)
    assert flags(worker) == WORKER_DEFAULTS | changed


def test_devices_are_counted_where_they_are_asked_for() -> None:
    gpu = {"cpus": 1.5, "memory": 1, "accelerators": {"gpu": {"count": 4}}}
    tpu = {"cpus": 1, "memory": 1, "accelerators": {"tpu": {"type": "v5", "topology": "4x4", "tpuChipsCount": 4}}}
    _, with_gpus = asked(worker_resources=gpu)
    _, with_tpus = asked(worker_resources=tpu)
    assert flags(with_gpus)["num-gpus"] == "4"
    assert flags(with_gpus)["num-cpus"] == "2", "Ray counts whole CPUs"
    assert json.loads(flags(with_tpus)["resources"] or "") == {"cpu-small": 100_000, "TPU": 4}


@pytest.mark.parametrize(
    "value", ["x; touch owned", "$(touch owned)", "`touch owned`", "a' 'b", '"', "\\", "*", "$HOME", "a b", "&& false"]
)
def test_no_shell_reads_the_value_of_a_parameter(value: str, tmp_path: Any) -> None:
    _, worker = asked(worker={"node-name": value})
    argv = ray_start(worker, HEAD_ADDRESS)
    shell, c, script, name, *rest = in_shell(argv)
    assert tuple(rest) == argv
    printed = subprocess.run(
        [shell, c, script, name, "printf", "%s\\n", *rest], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert f"--node-name={value}" in printed.stdout.splitlines()
    assert not list(tmp_path.iterdir())
    assert shlex.split(shlex.join(argv)) == list(argv), "what people see in KUBERAY_GEN_RAY_START_CMD is the same"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"head": "true"}, "rayStartParams cannot set head: the type Head is the head, and no other"),
        ({"address": "10.0.0.1:6379"}, "cannot set address: Muster gives every worker the address of its head"),
        ({"block": "false"}, 'block must be "true": without it `ray start` ends at once'),
        ({"include-dashboard": "False"}, 'include-dashboard must be "true": Muster asks the dashboard'),
        ({"port": "http"}, "port: 'http' is not a port"),
        ({"dashboard-port": "0"}, "dashboard-port: '0' is not a port"),
        ({"dashboard-agent-listen-port": "99999999999"}, "is not a port"),
        ({"port": "0637900000"}, "port: '0637900000' is not a port"),
    ],
)
def test_what_would_break_the_cluster_is_refused_with_a_reason(given: dict[str, str], message: str) -> None:
    with pytest.raises(SpecError) as caught:
        asked(given)
    assert message in str(caught.value)
    assert "spec.types.Head.rayStartParams" in str(caught.value)


def test_the_head_may_have_other_ports() -> None:
    head, _ = asked({"port": "6380", "dashboard-port": "8266", "dashboard-agent-listen-port": "52366"})
    assert Ports.of(dict(head.ray_start_params)) == Ports(6380, 8266, 52366)
    assert flags(head)["port"] == "6380"
    assert Ports.of(dict(asked()[0].ray_start_params)) == Ports(6379, 8265, 52365)


@pytest.mark.parametrize(("given", "seen"), [({}, "300"), ({"RAY_DASHBOARD_STARTUP_TIMEOUT_S": "900"}, "900")])
def test_rays_own_time_outs_are_raised_unless_the_template_sets_them(given: dict[str, str], seen: str) -> None:
    shell, c, script, name, *_ = in_shell(("ray", "start"))
    show = ("sh", "-c", 'echo "$RAY_DASHBOARD_STARTUP_TIMEOUT_S $RAY_NUM_REDIS_GET_RETRIES"')
    ended = subprocess.run([shell, c, script, name, *show], env={**os.environ, **given}, capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == (f"{seen} 150\n", "")
