"""JSON, merge and strategic merge patches."""

from __future__ import annotations

from tests.local.apiserver.harness import (
    CONFIGS,
    CRDS,
    JSON_PATCH,
    MERGE,
    PODS,
    STRATEGIC,
    WIDGET_SCHEMA,
    WIDGETS,
    Api,
    config,
    definition,
    pod,
    widget,
)


async def test_a_merge_patch_replaces_lists_and_removes_nulls(api: Api) -> None:
    await api.create(CONFIGS, config("c", a="1", b="2"))
    changed = await api.patch(f"{CONFIGS}/c", {"data": {"a": None, "c": "3"}})
    assert changed["data"] == {"b": "2", "c": "3"}


async def test_a_json_patch_fails_if_its_test_operation_fails(api: Api) -> None:
    await api.create(CONFIGS, config("c", a="1"))
    steps = [{"op": "test", "path": "/data/a", "value": "1"}, {"op": "replace", "path": "/data/a", "value": "2"}]
    assert (await api.patch(f"{CONFIGS}/c", steps, JSON_PATCH))["data"] == {"a": "2"}
    status, body = await api.call("PATCH", f"{CONFIGS}/c", steps, kind=JSON_PATCH)
    assert (status, body["reason"]) == (422, "Invalid")
    added = await api.patch(f"{CONFIGS}/c", [{"op": "replace", "path": "/data/new", "value": "1"}], JSON_PATCH)
    assert added["data"] == {"a": "2", "new": "1"}
    for hostile in ({"op": "add"}, [1], [{"op": "fly", "path": "/data"}], [{"op": "remove", "path": "/nothing"}]):
        assert (await api.call("PATCH", f"{CONFIGS}/c", hostile, kind=JSON_PATCH))[0] in (400, 422)


async def test_a_strategic_merge_patch_merges_lists_by_their_keys(api: Api) -> None:
    two = pod("p")
    two["spec"]["containers"].append({"name": "side", "image": "side:1"})
    await api.create(PODS, two)
    patch = {"spec": {"containers": [{"name": "side", "image": "side:2"}]}}
    changed = await api.patch(f"{PODS}/p", patch, STRATEGIC)
    assert [(c["name"], c["image"]) for c in changed["spec"]["containers"]] == [
        ("main", "busybox:1"),
        ("side", "side:2"),
    ]
    status = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    await api.patch(f"{PODS}/p/status", status, STRATEGIC)
    status = {"status": {"conditions": [{"type": "Other", "status": "True"}]}}
    changed = await api.patch(f"{PODS}/p/status", status, STRATEGIC)
    # Items of the patch come first, as in kube-apiserver, unless the live list has an order for both.
    assert [c["type"] for c in changed["status"]["conditions"]] == ["Other", "Ready"]
    status = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    changed = await api.patch(f"{PODS}/p/status", status, STRATEGIC)
    assert [(c["type"], c["status"]) for c in changed["status"]["conditions"]] == [
        ("Other", "True"),
        ("Ready", "False"),
    ]
    order = {"status": {"$setElementOrder/conditions": [{"type": "Ready"}, {"type": "Other"}]}}
    changed = await api.patch(f"{PODS}/p/status", order, STRATEGIC)
    assert [c["type"] for c in changed["status"]["conditions"]] == ["Ready", "Other"]
    gone = {"status": {"conditions": [{"type": "Ready", "$patch": "delete"}]}}
    changed = await api.patch(f"{PODS}/p/status", gone, STRATEGIC)
    assert [c["type"] for c in changed["status"]["conditions"]] == ["Other"]


async def test_directives_of_a_strategic_merge_patch(api: Api) -> None:
    body = config("c", a="1", b="2")
    body["metadata"]["finalizers"] = ["x.y/a", "x.y/b"]
    await api.create(CONFIGS, body)
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x.y/a"]}, "data": {"$patch": "replace", "z": "1"}}
    changed = await api.patch(f"{CONFIGS}/c", patch, STRATEGIC)
    assert changed["data"] == {"z": "1"}
    assert changed["metadata"]["finalizers"] == ["x.y/b"]


async def test_a_strategic_merge_patch_of_a_custom_resource_is_refused(api: Api) -> None:
    await api.create(CRDS, definition(WIDGET_SCHEMA))
    await api.create(WIDGETS, widget("w"))
    status, body = await api.call("PATCH", f"{WIDGETS}/w", {"spec": {"size": 2}}, kind=STRATEGIC)
    assert (status, body["reason"]) == (415, "UnsupportedMediaType")


async def test_a_patch_with_a_stale_version_conflicts(api: Api) -> None:
    first = await api.create(CONFIGS, config("c", a="1"))
    await api.patch(f"{CONFIGS}/c", {"data": {"a": "2"}})
    stale = {"metadata": {"resourceVersion": first["metadata"]["resourceVersion"]}, "data": {"a": "3"}}
    status, body = await api.call("PATCH", f"{CONFIGS}/c", stale, kind=MERGE)
    assert (status, body["reason"]) == (409, "Conflict")
