"""Pods: defaults and validation."""

from typing import Any

import pytest

from tests.local.apiserver.harness import PODS, Api, pod


async def test_a_pod_gets_the_defaults_of_kubernetes(api: Api) -> None:
    made = await api.create(PODS, pod("p"))
    spec, main = made["spec"], made["spec"]["containers"][0]
    assert (spec["restartPolicy"], spec["terminationGracePeriodSeconds"]) == ("Always", 30)
    assert main["resources"] == {}
    assert made["status"] == {"phase": "Pending"}


async def test_a_pod_with_scheduling_gates_is_not_bound(api: Api) -> None:
    made = await api.create(PODS, pod("p", schedulingGates=[{"name": "a.b/c"}]))
    assert made["status"]["conditions"][0]["reason"] == "SchedulingGated"
    assert (await api.call("POST", f"{PODS}/p/binding", {"target": {"name": "n"}}))[0] == 409
    await api.patch(f"{PODS}/p", {"spec": {"schedulingGates": None, "nodeSelector": {"a": "b"}}})
    assert (await api.call("POST", f"{PODS}/p/binding", {"target": {"name": "n"}}))[0] == 201


@pytest.mark.parametrize(
    ("change", "code", "expected"),
    [
        ({"containers": []}, 422, "spec.containers: Required value"),
        ({"containers": [{"image": "i"}]}, 422, "spec.containers[0].name"),
        ({"containers": [{"name": "a"}]}, 422, "spec.containers[0].image: Required value"),
        ({"containers": [{"name": "A_", "image": "i"}]}, 422, "spec.containers[0].name: Invalid value"),
        ({"containers": [{"name": "a", "image": "i"}] * 2}, 422, 'spec.containers[1].name: Duplicate value: "a"'),
        (
            {"containers": [{"name": "a", "image": "i", "ports": [{"containerPort": "80"}]}]},
            400,
            "cannot unmarshal string",
        ),
        (
            {"containers": [{"name": "a", "image": "i", "ports": [{"containerPort": 99999}]}]},
            422,
            "between 1 and 65535",
        ),
        (
            {"containers": [{"name": "a", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]},
            422,
            "Not found",
        ),
        ({"restartPolicy": "Maybe"}, 422, 'spec.restartPolicy: Unsupported value: "Maybe"'),
        ({"activeDeadlineSeconds": 0}, 422, "spec.activeDeadlineSeconds"),
        ({"terminationGracePeriodSeconds": -1}, 422, "spec.terminationGracePeriodSeconds"),
        ({"hostname": "not.a.label"}, 422, "spec.hostname"),
        ({"volumes": [{"name": "..", "emptyDir": {}}]}, 422, "spec.volumes[0].name"),
        ({"priorityClassName": "none"}, 403, "no PriorityClass with name none was found"),
    ],
)
async def test_an_invalid_pod_is_refused_with_the_field(
    api: Api, change: dict[str, Any], code: int, expected: str
) -> None:
    status, body = await api.call("POST", PODS, pod("p", **change))
    assert status == code, body
    assert expected in body["message"]


async def test_quantities_may_be_numbers(api: Api) -> None:
    container = {"name": "a", "image": "i", "resources": {"limits": {"cpu": 2, "memory": "1Gi"}}}
    made = await api.create(PODS, pod("p", containers=[container]))
    assert made["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "2", "memory": "1Gi"}


async def test_field_validation_refuses_unknown_fields_or_warns_of_them(api: Api) -> None:
    body = pod("p", comand=["x"])
    status, answer = await api.call("POST", f"{PODS}?fieldValidation=Strict", body)
    assert (status, answer["reason"]) == (400, "BadRequest")
    assert 'unknown field "spec.comand"' in answer["message"]
    async with api.session.post(f"{api.base}{PODS}?fieldValidation=Warn", json=body) as response:
        assert response.headers["Warning"] == '299 - "unknown field \\"spec.comand\\""'
        assert "comand" not in (await response.json())["spec"]
