"""Patches and managedFields that are made to exhaust or break the server."""

from __future__ import annotations

from tests.local.apiserver.harness import CONFIGS, Api, config


async def test_a_json_patch_is_limited_in_operations_and_copies(api: Api) -> None:
    await api.create(CONFIGS, config("c", a="x" * 1000))
    bomb = [{"op": "copy", "from": "/data", "path": f"/data/k{n}"} for n in range(60)]
    status, body = await api.call("PATCH", f"{CONFIGS}/c", bomb, kind="application/json-patch+json")
    assert (status, body["reason"]) == (413, "RequestEntityTooLarge")
    many = [{"op": "copy", "from": "/data/a", "path": f"/data/k{n}"} for n in range(101)]
    assert (await api.call("PATCH", f"{CONFIGS}/c", many, kind="application/json-patch+json"))[0] == 413
    tests = [{"op": "test", "path": "/data/a", "value": "x"}] * 10_001
    assert (await api.call("PATCH", f"{CONFIGS}/c", tests, kind="application/json-patch+json"))[0] == 413


async def test_malformed_managed_fields_do_not_break_apply(api: Api) -> None:
    await api.create(CONFIGS, config("c", a="1"))
    broken = [{"manager": "m", "operation": "Apply", "fieldsV1": {"f:data": {"f:a": {}}, "k:{": {"f:x": {}}, "v:": {}}}]
    await api.patch(f"{CONFIGS}/c", {"metadata": {"managedFields": broken}})
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "2"}}
    status, body = await api.call("PATCH", f"{CONFIGS}/c?fieldManager=n", applied, kind="application/apply-patch+yaml")
    assert (status, body["reason"]) == (409, "Conflict")
