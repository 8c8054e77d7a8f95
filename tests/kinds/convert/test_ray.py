"""What KubeRay's manifests have beside pods: hooks of each group, the runtime environment of the job."""

import json
from typing import Any

import yaml

from muster.kinds.manifests.conversion import Conversion, convert
from muster.kinds.manifests.load import load_any


def node(**container: Any) -> dict[str, Any]:
    own = {"name": "ray-node", "image": "ray:2.46.0", "resources": {"limits": {"cpu": 1, "memory": "4G"}}}
    return {"spec": {"containers": [own | container]}}


def job(head: dict[str, Any] | None = None, worker: dict[str, Any] | None = None, **spec: Any) -> str:
    document = {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": "tuning"},
        "spec": {
            "entrypoint": "python tune.py",
            **spec,
            "rayClusterSpec": {
                "headGroupSpec": {"template": head or node()},
                "workerGroupSpecs": [{"groupName": "small", "replicas": 1, "template": worker or node()}],
            },
        },
    }
    return yaml.safe_dump(document)


def converted(text: str) -> tuple[dict[str, Any], Conversion]:
    found = convert(text)
    return found.document["spec"], found


def hook(*command: str) -> dict[str, Any]:
    return {"preStop": {"exec": {"command": [*command]}}}


def test_the_hook_of_each_group_runs_in_its_own_members() -> None:
    spec, found = converted(job(node(lifecycle=hook("ray", "stop")), node(lifecycle=hook("/app/save.sh", "a b"))))
    assert not found.losses
    shell, option, script = spec["gracefulTermination"]["shutdownCommand"]
    assert (shell, option) == ("/bin/sh", "-c")
    assert script.split("\n") == [
        'case "$RAY_NODE_TYPE_NAME" in',
        "headgroup) exec ray stop;;",
        "small) exec /app/save.sh 'a b';;",
        "esac",
    ]
    spec, _ = converted(job(worker=node(lifecycle=hook("/app/save.sh"))))
    assert "headgroup" not in spec["gracefulTermination"]["shutdownCommand"][2]


def test_a_hook_that_is_no_command_is_named_as_lost() -> None:
    _, found = converted(job(worker=node(lifecycle={"preStop": {"httpGet": {"port": 80}}})))
    (lost,) = found.losses
    assert lost.field.endswith("workerGroupSpecs[0].template.spec.containers[0].lifecycle.preStop")


def test_the_longest_grace_period_is_carried_over_and_the_others_are_named() -> None:
    head, worker = node(), node()
    head["spec"]["terminationGracePeriodSeconds"] = 60
    worker["spec"]["terminationGracePeriodSeconds"] = 120
    spec, found = converted(job(head, worker))
    assert spec["gracefulTermination"] == {"terminationGracePeriodSeconds": 120}
    (lost,) = found.losses
    assert lost.field.endswith("headGroupSpec.template.spec.terminationGracePeriodSeconds")


def test_the_runtime_environment_is_handed_to_the_submitter() -> None:
    text = "env_vars: {counter: $(HOME)}\npip: [requests]\n"
    spec, found = converted(job(runtimeEnvYAML=text))
    (main,) = spec["template"]["spec"]["containers"]
    (variable,) = main["env"]
    assert variable["name"] == "RAY_JOB_RUNTIME_ENV"
    assert json.loads(variable["value"].replace("$$(", "$(")) == {
        "env_vars": {"counter": "$(HOME)"},
        "pip": ["requests"],
    }
    assert "$$(HOME)" in variable["value"], "Kubernetes would replace $(HOME)"
    assert (found.losses, found.notes) == ((), ())


def test_a_working_directory_is_read_where_the_submitter_runs() -> None:
    _, found = converted(job(runtimeEnvYAML="working_dir: ./src\n"))
    assert [each.field for each in found.notes] == ["spec.runtimeEnvYAML"]


def test_a_node_that_asks_for_no_memory_gets_what_ray_starts_with() -> None:
    spec, found = converted(job(node(resources={"limits": {"cpu": 1}})))
    assert spec["types"]["Head"]["resources"]["memory"] == 2
    assert "memory: 2 (GB) is written" in found.notes[0].message


def test_one_field_is_lost_and_two_fields_are() -> None:
    assert "1 of its fields is lost" in load_any(job(jobId="mine")).notes[0].hint
    assert "2 of its fields are lost" in load_any(job(jobId="mine", metadata={"a": "b"})).notes[0].hint
