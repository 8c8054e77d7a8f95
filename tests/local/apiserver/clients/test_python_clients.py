"""The Python clients, unmodified: kubernetes_asyncio (typed, custom, dynamic) and kr8s."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from kubernetes_asyncio import client, watch
from kubernetes_asyncio.client.exceptions import ApiException

from tests.local.apiserver.harness import CRDS, WIDGET_SCHEMA, Api, config, definition, widget

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


async def test_a_binding_and_an_eviction(connection: client.ApiClient) -> None:
    core = client.CoreV1Api(connection)
    await core.create_namespaced_pod("default", typed_pod("p"))
    node = client.V1ObjectReference(kind="Node", name="n")
    binding = client.V1Binding(metadata=client.V1ObjectMeta(name="p"), target=node)
    await core.create_namespaced_pod_binding("p", "default", binding, _preload_content=False)
    assert (await core.read_namespaced_pod("p", "default")).spec.node_name == "n"
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name="p", namespace="default"))
    await core.create_namespaced_pod_eviction("p", "default", eviction)
    assert (await core.read_namespaced_pod("p", "default")).metadata.deletion_timestamp


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
    with pytest.raises(ApiException) as invalid:
        await custom.create_namespaced_custom_object(*GROUP, widget("v", size=99))
    assert invalid.value.status == 422
    applied = {**widget("w"), "spec": {"size": 3}}
    apply = {"_content_type": "application/apply-patch+yaml", "field_manager": "me", "force": True}
    shown = await custom.patch_namespaced_custom_object(*GROUP, "w", applied, **apply)
    assert shown["spec"]["size"] == 3
    assert "me" in {entry["manager"] for entry in shown["metadata"]["managedFields"]}
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


async def test_the_dynamic_client(connection: client.ApiClient, api: Api) -> None:
    from kubernetes_asyncio.dynamic import DynamicClient

    await api.create(CRDS, definition(WIDGET_SCHEMA))
    dynamic = await DynamicClient(connection)
    widgets = await dynamic.resources.get(api_version="example.com/v1", kind="Widget")
    made = await widgets.create(body=widget("w"), namespace="default")
    assert made.spec.colour == "red"
    pods = await dynamic.resources.get(api_version="v1", kind="Pod")
    assert (await pods.get(namespace="default")).items == []
    await widgets.delete(name="w", namespace="default")


async def test_kr8s(base: str, api: Api, tmp_path: Path) -> None:
    import kr8s.asyncio
    from kr8s.asyncio.objects import ConfigMap, Pod, new_class

    await api.create(CRDS, definition(WIDGET_SCHEMA))
    path = tmp_path / "config"
    setup = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "l", "cluster": {"server": base}}],
        "contexts": [{"name": "l", "context": {"cluster": "l", "user": "u", "namespace": "default"}}],
        "users": [{"name": "u", "user": {}}],
        "current-context": "l",
    }
    path.write_text(yaml.safe_dump(setup))
    kube = await kr8s.asyncio.api(kubeconfig=str(path))
    try:
        assert (await kube.version())["major"] == "1"
        made = await ConfigMap({"metadata": {"name": "c"}, "data": {"a": "b"}}, api=kube)
        await made.create()
        await made.label({"x": "y"})
        assert (await ConfigMap.get("c", api=kube)).labels == {"x": "y"}
        spec = {"containers": [{"name": "main", "image": "busybox:1"}]}
        pod = await Pod({"metadata": {"name": "p"}, "spec": spec}, api=kube)
        await pod.create()
        ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
        await api.patch("/api/v1/namespaces/default/pods/p/status", ready)
        await pod.wait("condition=Ready", timeout=30)
        kind = new_class(kind="Widget", version="example.com/v1", namespaced=True)
        toy = await kind(widget("w"), api=kube)
        await toy.create()
        assert toy.spec.colour == "red"
        await pod.delete()
        await pod.wait("delete", timeout=30)
        assert not await pod.exists()
        names = [cast("Any", each).name async for each in kube.get("configmaps")]
        assert names == ["c"]
    finally:
        if kube._session is not None:  # noqa: SLF001 - kr8s has no close
            await kube._session.aclose()  # noqa: SLF001 - kr8s has no close
