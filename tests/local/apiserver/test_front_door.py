"""What stands before the objects: discovery, OpenAPI, tables, tokens, bodies of every kind, and hostile ones."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import aiohttp
import pytest
from yarl import URL

from muster.local.apiserver import ApiServer
from tests.local.apiserver.storykit import CONFIGS, CRDS, PODS, WIDGET_SCHEMA, Api, Clock, config, definition, pod

TABLE = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)
PROTOBUF = "application/vnd.kubernetes.protobuf"


@pytest.mark.parametrize("path", ["/version", "/version/"])
async def test_it_calls_itself_kubernetes_1_34(api: Api, path: str) -> None:
    assert (await api.get(path))["gitVersion"].startswith("v1.34.")


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
async def test_it_is_healthy(api: Api, path: str) -> None:
    assert await api.call("GET", path) == (200, b"ok")


async def test_legacy_discovery_names_everything(api: Api) -> None:
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


async def test_aggregated_discovery_names_everything_at_once(api: Api) -> None:
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


async def test_openapi_has_schemas_and_the_old_form_is_empty(api: Api) -> None:
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


async def test_pods_are_shown_as_a_table(api: Api, clock: Clock) -> None:
    await api.create(PODS, pod("p"))
    ended = {"terminated": {"exitCode": 3, "reason": "Error", "finishedAt": "2026-09-21T14:13:20Z"}}
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    held = [{"name": "main", "ready": False, "restartCount": 2, "state": waiting, "lastState": ended}]
    await api.patch(
        f"{PODS}/p/status", {"status": {"phase": "Running", "podIP": "10.0.0.1", "containerStatuses": held}}
    )
    clock.now += 60
    table = await api.get(f"{PODS}/p", Accept=TABLE)
    assert table["kind"] == "Table"
    assert table["rows"][0]["cells"][:6] == ["p", "0/1", "CrashLoopBackOff", "2 (60s ago)", "60s", "10.0.0.1"]
    whole = await api.get(f"{PODS}?includeObject=Object", Accept=TABLE)
    assert whole["rows"][0]["object"]["spec"]
    assert (await api.call("GET", f"{PODS}?includeObject=Half", Accept=TABLE))[0] == 400


async def test_a_table_watch_names_its_columns_once(api: Api) -> None:
    await api.create(PODS, pod("a"))
    await api.create(PODS, pod("b"))
    stream = await api.watch(PODS, Accept=TABLE)
    first, second = await stream.next(), await stream.next()
    assert first[1]["columnDefinitions"][0]["name"] == "Name"
    assert second[1]["columnDefinitions"] is None
    stream.close()


async def test_metadata_alone_is_served(api: Api) -> None:
    await api.create(CONFIGS, config("c", a="b"))
    accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
    found = await api.get(CONFIGS, Accept=accept)
    assert found["kind"] == "PartialObjectMetadataList"
    assert found["items"][0]["kind"] == "PartialObjectMetadata"
    assert "data" not in found["items"][0]


async def test_who_may_do_what(api: Api) -> None:
    asked = {"spec": {"resourceAttributes": {"verb": "create", "resource": "pods"}}}
    review = await api.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", asked)
    assert (review["kind"], review["status"]["allowed"]) == ("SelfSubjectAccessReview", True)
    who = await api.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    assert who["status"]["userInfo"]["username"] == "system:admin"
    assert (await api.call("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"))[0] == 405


async def test_a_token_is_asked_for_where_one_is_set(session: aiohttp.ClientSession) -> None:
    server = ApiServer(None, token="s3cret")
    base = await server.start()
    api = Api(base, session)
    try:
        status, body = await api.call("GET", "/api/v1/namespaces")
        assert (status, body["reason"]) == (401, "Unauthorized")
        assert (await api.call("GET", "/api/v1/namespaces", Authorization="Bearer wrong"))[0] == 401
        assert (await api.call("GET", "/api/v1/namespaces", Authorization="Bearer s3cret"))[0] == 200
        assert (await api.call("GET", "/readyz"))[0] == 200
    finally:
        await server.stop()


def field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return bytes([number << 3, value])
    raw = value.encode() if isinstance(value, str) else value
    return bytes([number << 3 | 2, len(raw)]) + raw


def protobuf(api_version: str, kind: str, raw: bytes) -> bytes:
    return b"k8s\x00" + field(1, field(1, api_version) + field(2, kind)) + field(2, raw) + field(3, "") + field(4, "")


async def test_protobuf_bodies_are_read(api: Api) -> None:
    meta = field(1, "c") + field(11, field(1, "app") + field(2, "x")) + field(7, 0) + field(8, b"")
    raw = (
        field(1, meta)
        + field(2, field(1, "a") + field(2, "1"))
        + field(3, field(1, "b") + field(2, b"\xff"))
        + field(4, 1)
    )
    status, made = await api.call("POST", CONFIGS, protobuf("v1", "ConfigMap", raw), kind=PROTOBUF)
    assert status == 201, made
    assert (made["data"], made["binaryData"], made["immutable"]) == ({"a": "1"}, {"b": "/w=="}, True)
    assert made["metadata"]["labels"] == {"app": "x"}
    options = protobuf("v1", "DeleteOptions", field(2, field(1, "another")))
    assert (await api.call("DELETE", f"{CONFIGS}/c", options, kind=PROTOBUF))[0] == 409


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", 400),
        (b"k8s\x00\xff", 400),
        (b"k8s\x00" + b"\x12\xff\x01ab", 400),
        (protobuf("v1", "ConfigMap", b"\x0a\x7f"), 400),
        (protobuf("v1", "ConfigMap", field(1, 1)), 400),
        (protobuf("v1", "ConfigMap", field(1, field(1, b"\xff\xfe"))), 400),
        (protobuf("apps/v1", "Deployment", b""), 415),
    ],
)
async def test_broken_protobuf_is_refused(api: Api, body: bytes, code: int) -> None:
    status, answer = await api.call("POST", CONFIGS, body, kind=PROTOBUF)
    assert (status, answer["kind"]) == (code, "Status")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"[]", 400),
        (b"null", 400),
        (b'"text"', 400),
        (b"[" * 100_000, 400),
        (b'{"a":' * 90_000 + b"1" + b"}" * 90_000, 400),
        (b'{"metadata":' + b'{"a":' * 150 + b"1" + b"}" * 151, 400),
        (b'{"metadata":[]}', 400),
        (b'{"metadata":{"name":7}}', 400),
        (b'{"metadata":{"name":"a","labels":{"a":1}}}', 400),
        (b'{"metadata":{"name":"a","labels":[]}}', 400),
        (b'{"metadata":{"name":"a","finalizers":"x"}}', 400),
        (b'{"metadata":{"name":"a","ownerReferences":[1]}}', 400),
        (b'{"metadata":{"name":"a","ownerReferences":[{}]}}', 422),
        (b'{"metadata":{"name":"a\\u0000b"}}', 422),
        (b'{"metadata":{"name":"a/b"}}', 422),
        (b'{"metadata":{"name":"\\ud800"}}', 400),
        (b'{"metadata":{"name":"a","managedFields":[{"fieldsV1":7}]}}', 201),
        (b'{"metadata":{"name":"a"},"data":{"k":1}}', 400),
        (b'{"metadata":{"name":"a"},"binaryData":{"k":"*"}}', 422),
        (b'{"kind":"Secret","metadata":{"name":"a"}}', 400),
        (b'{"apiVersion":"v2","metadata":{"name":"a"}}', 400),
        (b'{"metadata":{"name":"a","namespace":"other"}}', 400),
        (b'{"metadata":{"name":"a","resourceVersion":"7"}}', 400),
        (b'{"metadata":{"name":"a"},"data":null}', 201),
        (b"x" * (4 << 20), 413),
    ],
)
async def test_hostile_bodies_are_answered(api: Api, body: bytes, code: int) -> None:
    status, answer = await api.call("POST", CONFIGS, body)
    assert status == code, answer
    assert answer["kind"] == ("ConfigMap" if code == 201 else "Status")
    assert (await api.call("GET", "/readyz"))[0] == 200


async def test_a_body_without_an_announced_length_is_limited_too(api: Api) -> None:
    async def endless() -> Any:
        for _ in range(64):
            yield b"x" * 65_536

    async with api.session.post(
        api.base + CONFIGS, data=endless(), headers={"Content-Type": "application/json"}
    ) as response:
        assert response.status == 413


async def test_other_forms_of_body(api: Api) -> None:
    text = b"metadata: {name: y}\ndata: {a: 'on'}\n"
    status, made = await api.call("POST", CONFIGS, text, kind="application/yaml")
    assert (status, made["data"]) == (201, {"a": "on"})
    status, body = await api.call("POST", CONFIGS, b"<a/>", kind="application/xml")
    assert (status, body["reason"]) == (415, "UnsupportedMediaType")


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("POST", f"{CONFIGS}/c", 405),
        ("PUT", CONFIGS, 405),
        ("PATCH", CONFIGS, 405),
        ("DELETE", "/api/v1/configmaps", 405),
        ("POST", "/api/v1/configmaps", 405),
        ("POST", f"{PODS}/p/log", 405),
        ("GET", f"{PODS}/p/exec", 404),
        ("GET", "/api/v1/configmaps/c", 404),
        ("GET", "/api/v1/namespaces/default/nodes", 404),
        ("GET", "/api/v1/namespaces/default/configmaps/a%2Fb", 400),
        ("GET", "/api/v1/namespaces/default/configmaps/%00", 400),
        ("GET", "/api/v1/namespaces/default/configmaps/%ff", 400),
        ("GET", "/nothing", 404),
        ("GET", "/api/v1/" + "x" * 5000, 400),
        ("POST", "/version", 404),
    ],
)
async def test_paths_and_verbs_that_lead_nowhere(api: Api, method: str, path: str, code: int) -> None:
    url = URL(api.base + path, encoded=True)
    async with api.session.request(method, url, data=b"{}", headers={"Content-Type": "application/json"}) as response:
        assert response.status == code
        assert (await response.json(content_type=None))["kind"] == "Status"


async def test_secrets_take_plain_text(api: Api) -> None:
    made = await api.create("/api/v1/namespaces/default/secrets", {"metadata": {"name": "s"}, "stringData": {"a": "b"}})
    assert (made["data"], made["type"]) == ({"a": base64.b64encode(b"b").decode()}, "Opaque")
    assert "stringData" not in made


async def test_many_creates_at_once_are_all_kept(api: Api) -> None:
    await asyncio.gather(*(api.create(CONFIGS, config(f"c{n}")) for n in range(200)))
    found = await api.get(CONFIGS)
    assert len(found["items"]) == 200
    assert len({i["metadata"]["resourceVersion"] for i in found["items"]}) == 200
    assert json.dumps(found)


@pytest.mark.parametrize("header", ["Origin", "Sec-Fetch-Site"])
async def test_web_pages_reach_nothing(api: Api, header: str) -> None:
    status, body = await api.call("GET", "/api/v1/namespaces", **{header: "http://evil.example.com"})
    assert (status, body["reason"]) == (403, "Forbidden")
    status, body = await api.call("POST", CONFIGS, config("c"), kind="text/plain")
    assert (status, body["reason"]) == (415, "UnsupportedMediaType")


async def test_a_json_patch_cannot_fill_the_memory(api: Api) -> None:
    await api.create(CONFIGS, config("c", a="x" * 1000))
    bomb = [{"op": "copy", "from": "/data", "path": f"/data/k{n}"} for n in range(60)]
    status, body = await api.call("PATCH", f"{CONFIGS}/c", bomb, kind="application/json-patch+json")
    assert (status, body["reason"]) == (413, "RequestEntityTooLarge")
    many = [{"op": "copy", "from": "/data/a", "path": f"/data/k{n}"} for n in range(101)]
    assert (await api.call("PATCH", f"{CONFIGS}/c", many, kind="application/json-patch+json"))[0] == 413
    tests = [{"op": "test", "path": "/data/a", "value": "x"}] * 10_001
    assert (await api.call("PATCH", f"{CONFIGS}/c", tests, kind="application/json-patch+json"))[0] == 413


async def test_broken_managed_fields_break_nothing(api: Api) -> None:
    await api.create(CONFIGS, config("c", a="1"))
    broken = [{"manager": "m", "operation": "Apply", "fieldsV1": {"f:data": {"f:a": {}}, "k:{": {"f:x": {}}, "v:": {}}}]
    await api.patch(f"{CONFIGS}/c", {"metadata": {"managedFields": broken}})
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "2"}}
    status, body = await api.call("PATCH", f"{CONFIGS}/c?fieldManager=n", applied, kind="application/apply-patch+yaml")
    assert (status, body["reason"]) == (409, "Conflict")
