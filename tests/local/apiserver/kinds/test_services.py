"""Services: defaults."""

from tests.local.apiserver.harness import Api


async def test_the_ports_of_a_service_have_defaults(api: Api) -> None:
    path = "/api/v1/namespaces/default/services"
    body = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    made = await api.create(path, body)
    assert made["spec"]["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    assert (await api.call("POST", path, {"metadata": {"name": "9t"}, "spec": {"ports": [{"port": 1}]}}))[0] == 422
