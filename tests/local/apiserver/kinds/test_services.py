"""Services: defaults, cluster IPs, validation."""

from tests.local.apiserver.harness import (
    Api,
)


async def test_a_service_keeps_the_cluster_ip_it_was_given(api: Api) -> None:
    path = "/api/v1/namespaces/default/services"
    body = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    made = await api.create(path, body)
    assert made["spec"]["clusterIP"].startswith("10.96.")
    assert made["spec"]["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    await api.create(path, {"metadata": {"name": "h"}, "spec": {"clusterIP": "None", "selector": {"a": "b"}}})
    status, kept = await api.call("PUT", f"{path}/s", body)
    assert (status, kept["spec"]["clusterIP"]) == (200, made["spec"]["clusterIP"])
    status, body = await api.call("POST", path, {"metadata": {"name": "t"}, "spec": {}})
    assert (status, body["details"]["causes"][0]["field"]) == (422, "spec.ports")
    assert (await api.call("POST", path, {"metadata": {"name": "9t"}, "spec": {"ports": [{"port": 1}]}}))[0] == 422
