"""Deletion: grace periods of pods, and objects that must not be deleted."""

from typing import Any

import pytest

from tests.local.apiserver.harness import PODS, Api, pod


async def bound(api: Api, name: str, **spec: Any) -> dict[str, Any]:
    await api.create(PODS, pod(name, **spec))
    assert (await api.call("POST", f"{PODS}/{name}/binding", {"target": {"name": "n"}}))[0] == 201
    return await api.get(f"{PODS}/{name}")


async def test_a_bound_pod_is_removed_when_its_node_deletes_it_with_grace_zero(api: Api) -> None:
    await bound(api, "p", terminationGracePeriodSeconds=5)
    status, marked = await api.call("DELETE", f"{PODS}/p")
    assert status == 200
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 5
    assert marked["metadata"]["deletionTimestamp"] == "2026-09-21T14:13:25Z"
    again = (await api.call("DELETE", f"{PODS}/p?gracePeriodSeconds=60"))[1]
    assert again["metadata"]["deletionGracePeriodSeconds"] == 5
    status, last = await api.call("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0})
    assert (status, last["metadata"]["name"]) == (200, "p")
    assert (await api.call("GET", f"{PODS}/p"))[0] == 404


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_a_finished_pod_is_deleted_without_grace(api: Api, phase: str) -> None:
    await bound(api, "p")
    await api.patch(f"{PODS}/p/status", {"status": {"phase": phase}})
    await api.call("DELETE", f"{PODS}/p")
    assert (await api.call("GET", f"{PODS}/p"))[0] == 404


async def test_initial_namespaces_cannot_be_deleted(api: Api) -> None:
    status, body = await api.call("DELETE", "/api/v1/namespaces/default")
    assert (status, body["message"]) == (403, 'namespaces "default" is forbidden: this namespace may not be deleted')
