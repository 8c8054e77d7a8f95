"""Services: defaults and validation."""

from tests.local.apiserver.harness import (
    Api,
)


async def test_a_service_has_ports_with_defaults_unless_it_is_headless(api: Api) -> None:
    path = "/api/v1/namespaces/default/services"
    body = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    made = await api.create(path, body)
    assert made["spec"]["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    await api.create(path, {"metadata": {"name": "h"}, "spec": {"clusterIP": "None", "selector": {"a": "b"}}})
    status, body = await api.call("POST", path, {"metadata": {"name": "t"}, "spec": {}})
    assert (status, body["details"]["causes"][0]["field"]) == (422, "spec.ports")
    assert (await api.call("POST", path, {"metadata": {"name": "9t"}, "spec": {"ports": [{"port": 1}]}}))[0] == 422
