"""Server-side apply and managedFields."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.local.apiserver.harness import (
    APPLY,
    CONFIGS,
    CRDS,
    MERGE,
    PODS,
    WIDGET_SCHEMA,
    WIDGETS,
    Api,
    definition,
    pod,
    widget,
)


async def apply(api: Api, path: str, body: Any, manager: str, force: bool = False) -> tuple[int, Any]:
    query = f"fieldManager={manager}&force={str(force).lower()}"
    return await api.call("PATCH", f"{path}?{query}", body, kind=APPLY)


def applied(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}


async def test_apply_creates_owns_fields_conflicts_and_removes_them(api: Api) -> None:
    path = f"{CONFIGS}/c"
    status, made = await apply(api, path, applied(a="1", b="1"), "alice")
    assert (status, made["data"]) == (201, {"a": "1", "b": "1"})
    (entry,) = made["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("alice", "Apply")
    assert entry["fieldsV1"] == {"f:data": {"f:a": {}, "f:b": {}}}

    status, same = await apply(api, path, applied(a="1", b="1"), "alice")
    assert (status, same) == (200, made)

    status, body = await apply(api, path, applied(a="2"), "bob")
    assert (status, body["reason"]) == (409, "Conflict")
    assert body["message"] == 'Apply failed with 1 conflict: conflict with "alice" using v1: .data.a'
    assert body["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "alice" using v1', "field": ".data.a"}
    ]

    status, forced = await apply(api, path, applied(a="2"), "bob", force=True)
    assert (status, forced["data"]) == (200, {"a": "2", "b": "1"})
    # Fields that alice no longer applies are removed, unless another manager owns them too.
    status, left = await apply(api, path, applied(c="1"), "alice")
    assert (status, left["data"]) == (200, {"a": "2", "c": "1"})


async def test_equal_fields_have_two_owners_and_an_update_takes_ownership(api: Api) -> None:
    path = f"{CONFIGS}/c"
    await apply(api, path, applied(a="1"), "alice")
    assert (await apply(api, path, applied(a="1"), "bob"))[0] == 200
    status, left = await apply(api, path, applied(z="1"), "alice")
    assert (status, left["data"]) == (200, {"a": "1", "z": "1"})
    await api.call("PATCH", f"{path}?fieldManager=carol", {"data": {"z": "9"}}, kind=MERGE)
    status, body = await apply(api, path, applied(z="1"), "alice")
    assert status == 409
    assert 'conflict with "carol" using v1: .data.z' in body["message"]


async def test_apply_merges_lists_by_their_keys(api: Api) -> None:
    await api.create(CRDS, definition(WIDGET_SCHEMA))
    path = f"{WIDGETS}/w"
    await apply(api, path, widget("w", parts=[{"name": "a", "weight": 1}, {"name": "b"}]), "alice")
    other = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w"},
        "spec": {"parts": [{"name": "c"}]},
    }
    status, made = await apply(api, path, other, "bob")
    assert status == 200
    assert sorted(p["name"] for p in made["spec"]["parts"]) == ["a", "b", "c"]
    status, made = await apply(api, path, widget("w", parts=[{"name": "b"}]), "alice")
    assert status == 200, made
    assert sorted(p["name"] for p in made["spec"]["parts"]) == ["b", "c"]


@pytest.mark.parametrize("text", ["kind: [", "- just\n- a list\n", "a: &x [1]\nb: *x\n", "? {a: b}\n: c\n"])
async def test_apply_refuses_a_body_that_is_not_an_object(api: Api, text: str) -> None:
    status, body = await api.call("PATCH", f"{CONFIGS}/c?fieldManager=m", text.encode(), kind=APPLY)
    assert (status, body["reason"]) == (400, "BadRequest")


async def test_apply_needs_a_field_manager_and_accepts_yaml(api: Api) -> None:
    status, body = await api.call("PATCH", f"{CONFIGS}/c", json.dumps(applied(a="1")).encode(), kind=APPLY)
    assert (status, body["details"]["causes"][0]["field"]) == (422, "fieldManager")
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  day: '2026-01-01'\n"
    status, made = await api.call("PATCH", f"{CONFIGS}/c?fieldManager=m", text, kind=APPLY)
    assert (status, made["data"]) == (201, {"day": "2026-01-01"})


async def test_managed_fields_of_an_update_name_its_subresource(api: Api) -> None:
    await api.create(PODS, pod("p"))
    await api.call("PATCH", f"{PODS}/p/status?fieldManager=agent", {"status": {"phase": "Running"}}, kind=MERGE)
    entries = (await api.get(f"{PODS}/p"))["metadata"]["managedFields"]
    mine = next(e for e in entries if e["manager"] == "agent")
    assert (mine["subresource"], mine["fieldsV1"]) == ("status", {"f:status": {"f:phase": {}}})
