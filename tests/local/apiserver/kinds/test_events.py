"""Events: their time to live."""

from tests.local.apiserver.harness import Api, Clock


async def test_events_are_deleted_after_an_hour(api: Api, clock: Clock) -> None:
    path = "/api/v1/namespaces/default/events"
    body = {"involvedObject": {"kind": "Pod", "name": "p"}, "reason": "X", "message": "m", "type": "Normal"}
    await api.create(path, {**body, "metadata": {"name": "old"}})
    clock.now += 3601
    await api.create(path, {**body, "metadata": {"name": "new"}})
    await api.gone(f"{path}/old")
    assert [e["metadata"]["name"] for e in (await api.get(path))["items"]] == ["new"]
