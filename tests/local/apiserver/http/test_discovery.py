"""Discovery, version and health documents, and OpenAPI."""

from __future__ import annotations

import pytest

from tests.local.apiserver.harness import CRDS, WIDGET_SCHEMA, Api, definition


@pytest.mark.parametrize("path", ["/version", "/version/"])
async def test_the_version_is_kubernetes_1_34(api: Api, path: str) -> None:
    assert (await api.get(path))["gitVersion"].startswith("v1.34.")


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
async def test_health_endpoints_answer_ok(api: Api, path: str) -> None:
    assert await api.call("GET", path) == (200, b"ok")


async def test_legacy_discovery_lists_built_ins_and_custom_resources(api: Api) -> None:
    await api.create(CRDS, definition(WIDGET_SCHEMA))
    assert (await api.get("/api"))["versions"] == ["v1"]
    assert "example.com" in {g["name"] for g in (await api.get("/apis"))["groups"]}
    core = {r["name"]: r for r in (await api.get("/api/v1"))["resources"]}
    assert core["pods"]["shortNames"] == ["po"]
    assert core["pods/eviction"]["kind"] == "Eviction"
    assert "watch" in core["pods"]["verbs"]
    (own, status) = (await api.get("/apis/example.com/v1"))["resources"]
    assert (own["name"], own["categories"], status["name"]) == ("widgets", ["all", "toys"], "widgets/status")
    assert (await api.get("/apis/example.com"))["preferredVersion"]["version"] == "v1"
    assert (await api.call("GET", "/apis/nothing.example.com"))[0] == 404
    assert (await api.call("GET", "/apis/example.com/v9"))[0] == 404


async def test_aggregated_discovery_lists_all_groups_in_one_response(api: Api) -> None:
    await api.create(CRDS, definition(WIDGET_SCHEMA))
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    async with api.session.get(f"{api.base}/apis", headers={"Accept": accept}) as response:
        assert response.headers["Content-Type"] == accept.partition(",")[0]
        found = await response.json(content_type=None)
    group = next(g for g in found["items"] if g["metadata"]["name"] == "example.com")
    (row,) = group["versions"][0]["resources"]
    assert (row["resource"], row["scope"], row["shortNames"]) == ("widgets", "Namespaced", ["wd"])
    core = await api.get("/api", Accept=accept)
    assert [g["metadata"]["name"] for g in core["items"]] == [""]


async def test_openapi_v3_has_schemas_and_v2_is_empty(api: Api) -> None:
    await api.create(CRDS, definition(WIDGET_SCHEMA))
    paths = (await api.get("/openapi/v3"))["paths"]
    own = await api.get(paths["apis/example.com/v1"]["serverRelativeURL"])
    schema = own["components"]["schemas"]["com.example.v1.Widget"]
    assert schema["properties"]["spec"]["properties"]["size"]["description"] == "How big the widget is."
    assert schema["x-kubernetes-group-version-kind"] == [{"group": "example.com", "version": "v1", "kind": "Widget"}]
    core = await api.get(paths["api/v1"]["serverRelativeURL"])
    assert core["components"]["schemas"]["v1.Pod"]["properties"]["spec"]
    operation = core["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
    assert "fieldValidation" in {p["name"] for p in operation["parameters"]}
    async with api.session.get(f"{api.base}/openapi/v2") as response:
        assert (response.status, await response.read()) == (200, b"")
        assert "openapi.spec.v2" in response.headers["Content-Type"]
