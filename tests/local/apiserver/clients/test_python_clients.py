"""The Python client kubernetes_asyncio, unmodified: typed and custom objects."""

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from kubernetes_asyncio import client, watch
from kubernetes_asyncio.client.exceptions import ApiException

from tests.local.apiserver.harness import WIDGET_SCHEMA, Api, config, definition, widget

GROUP = ("example.com", "v1", "default", "widgets")


@pytest.fixture
async def connection(base: str) -> AsyncIterator[client.ApiClient]:
    async with client.ApiClient(client.Configuration(host=base)) as connection:
        yield connection


def typed_pod(name: str) -> client.V1Pod:
    container = client.V1Container(name="main", image="busybox:1", command=["true"])
    return client.V1Pod(metadata=client.V1ObjectMeta(name=name), spec=client.V1PodSpec(containers=[container]))


async def test_typed_create_patch_replace_and_delete(connection: client.ApiClient) -> None:
    core = client.CoreV1Api(connection)
    made = await core.create_namespaced_pod("default", typed_pod("p"))
    assert (made.kind, made.status.phase) == ("Pod", "Pending")
    with pytest.raises(ApiException) as taken:
        await core.create_namespaced_pod("default", typed_pod("p"))
    assert taken.value.status == 409
    patched = await core.patch_namespaced_pod("p", "default", {"metadata": {"labels": {"a": "b"}}})
    assert patched.metadata.labels == {"a": "b"}
    made.metadata.labels = {"stale": "yes"}
    with pytest.raises(ApiException) as stale:
        await core.replace_namespaced_pod("p", "default", made)
    assert stale.value.status == 409
    found = await core.list_namespaced_pod("default", label_selector="a=b", limit=1)
    assert [p.metadata.name for p in found.items] == ["p"]
    gone = await core.delete_namespaced_pod("p", "default", grace_period_seconds=0)
    assert gone.metadata.name == "p"
    with pytest.raises(ApiException) as missing:
        await core.read_namespaced_pod("p", "default")
    assert missing.value.status == 404


async def test_a_binding(connection: client.ApiClient) -> None:
    core = client.CoreV1Api(connection)
    await core.create_namespaced_pod("default", typed_pod("p"))
    node = client.V1ObjectReference(kind="Node", name="n")
    binding = client.V1Binding(metadata=client.V1ObjectMeta(name="p"), target=node)
    await core.create_namespaced_pod_binding("p", "default", binding, _preload_content=False)
    assert (await core.read_namespaced_pod("p", "default")).spec.node_name == "n"


async def test_a_typed_watch_receives_events(connection: client.ApiClient) -> None:
    core = client.CoreV1Api(connection)
    version = (await core.list_namespaced_config_map("default")).metadata.resource_version
    for name in ("a", "b"):
        body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name), data={"k": "v"})
        await core.create_namespaced_config_map("default", body)
    seen: list[tuple[str, str]] = []
    async with watch.Watch() as stream:
        arguments: dict[str, Any] = {"resource_version": version, "timeout_seconds": 5}
        async for event in stream.stream(core.list_namespaced_config_map, "default", **arguments):
            seen.append((event["type"], event["object"].metadata.name))
            if len(seen) == 2:
                break
    assert seen == [("ADDED", "a"), ("ADDED", "b")]


async def test_a_typed_watch_from_a_compacted_version_raises_410(connection: client.ApiClient, api: Api) -> None:
    core = client.CoreV1Api(connection)
    path = "/api/v1/namespaces/default/configmaps"
    made = await api.create(path, config("c"))
    for number in range(70):
        await api.patch(f"{path}/c", {"data": {"n": str(number)}})
    async with watch.Watch() as stream:
        arguments: dict[str, Any] = {"resource_version": made["metadata"]["resourceVersion"]}
        with pytest.raises(ApiException) as expired:
            async for _ in stream.stream(core.list_namespaced_config_map, "default", **arguments):
                pass
    assert expired.value.status == 410


async def test_custom_objects(connection: client.ApiClient) -> None:
    extensions = client.ApiextensionsV1Api(connection)
    await extensions.create_custom_resource_definition(cast("Any", definition(WIDGET_SCHEMA)))
    read = await extensions.read_custom_resource_definition("widgets.example.com")
    assert read.status.conditions
    custom: Any = client.CustomObjectsApi(connection)
    made = await custom.create_namespaced_custom_object(*GROUP, widget("w"))
    assert made["spec"]["colour"] == "red"
    busy = {"status": {"phase": "Busy"}}
    merge = "application/merge-patch+json"
    shown = await custom.patch_namespaced_custom_object_status(*GROUP, "w", busy, _content_type=merge)
    assert shown["status"] == {"phase": "Busy"}
    await custom.delete_namespaced_custom_object(*GROUP, "w")


async def test_a_lease_is_replaced_under_its_version(connection: client.ApiClient) -> None:
    leases = client.CoordinationV1Api(connection)
    spec = client.V1LeaseSpec(holder_identity="a", lease_duration_seconds=15)
    made = await leases.create_namespaced_lease(
        "default", client.V1Lease(metadata=client.V1ObjectMeta(name="l"), spec=spec)
    )
    made.spec.lease_transitions = 1
    renewed = await leases.replace_namespaced_lease("l", "default", made)
    assert renewed.spec.lease_transitions == 1
    made.spec.holder_identity = "b"
    with pytest.raises(ApiException) as lost:
        await leases.replace_namespaced_lease("l", "default", made)
    assert lost.value.status == 409
