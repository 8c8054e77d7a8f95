"""Discovery, version and health documents, and OpenAPI."""

from tests.local.apiserver.harness import CRDS, WIDGET_SCHEMA, Api, definition


async def test_discovery_lists_built_ins_and_custom_resources(api: Api) -> None:
    await api.create(CRDS, definition(WIDGET_SCHEMA))
    assert (await api.get("/api"))["versions"] == ["v1"]
    assert "example.com" in {g["name"] for g in (await api.get("/apis"))["groups"]}
    core = {r["name"]: r for r in (await api.get("/api/v1"))["resources"]}
    assert core["pods"]["shortNames"] == ["po"]
    assert "watch" in core["pods"]["verbs"]
    (own,) = (await api.get("/apis/example.com/v1"))["resources"]
    assert (own["name"], own["categories"]) == ("widgets", ["all", "toys"])
    assert (await api.call("GET", "/apis/example.com/v9"))[0] == 404


async def test_openapi_says_that_the_server_checks_fields(api: Api) -> None:
    await api.create(CRDS, definition(WIDGET_SCHEMA))
    paths = (await api.get("/openapi/v3"))["paths"]
    own = await api.get(paths["apis/example.com/v1"]["serverRelativeURL"])
    operation = own["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]["patch"]
    kind = {"group": "example.com", "version": "v1", "kind": "Widget"}
    assert operation["x-kubernetes-group-version-kind"] == kind
    assert [parameter["name"] for parameter in operation["parameters"]] == ["fieldValidation"]
    assert "/api/v1/nodes/{name}" in (await api.get(paths["api/v1"]["serverRelativeURL"]))["paths"]
    assert (await api.call("GET", "/openapi/v3/apis/example.com/v9"))[0] == 404
