"""Events: two API groups, and their time to live."""

from __future__ import annotations

from tests.local.apiserver.harness import (
    Api,
    Clock,
)


async def test_events_are_served_in_both_api_groups(api: Api) -> None:
    core = {
        "metadata": {"name": "e.1"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "message": "hello",
        "reason": "Greeted",
        "type": "Normal",
    }
    await api.create("/api/v1/namespaces/default/events", core)
    other = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e.2"},
        "eventTime": "2026-09-21T14:13:20.000000Z",
        "regarding": {"kind": "Pod", "name": "q", "namespace": "default"},
        "note": "goodbye",
        "reason": "Left",
        "type": "Warning",
    }
    await api.create("/apis/events.k8s.io/v1/namespaces/default/events", other)
    views = (await api.get("/apis/events.k8s.io/v1/namespaces/default/events"))["items"]
    assert [v["note"] for v in views] == ["hello", "goodbye"]
    only = await api.get("/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dq,type%3DWarning")
    assert [e["message"] for e in only["items"]] == ["goodbye"]


async def test_events_are_deleted_after_an_hour(api: Api, clock: Clock) -> None:
    path = "/api/v1/namespaces/default/events"
    body = {"involvedObject": {"kind": "Pod", "name": "p"}, "reason": "X", "message": "m", "type": "Normal"}
    await api.create(path, {**body, "metadata": {"name": "old"}})
    clock.now += 3601
    await api.create(path, {**body, "metadata": {"name": "new"}})
    await api.gone(f"{path}/old")
    assert [e["metadata"]["name"] for e in (await api.get(path))["items"]] == ["new"]
