"""Tables and PartialObjectMetadata."""

from __future__ import annotations

from tests.local.apiserver.harness import CONFIGS, PODS, Api, Clock, config, pod

TABLE = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)


async def test_a_list_of_pods_is_served_as_a_table(api: Api, clock: Clock) -> None:
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


async def test_only_the_first_event_of_a_table_watch_has_column_definitions(api: Api) -> None:
    await api.create(PODS, pod("a"))
    await api.create(PODS, pod("b"))
    stream = await api.watch(PODS, Accept=TABLE)
    first, second = await stream.next(), await stream.next()
    assert first[1]["columnDefinitions"][0]["name"] == "Name"
    assert second[1]["columnDefinitions"] is None
    stream.close()


async def test_a_list_is_served_as_partial_object_metadata(api: Api) -> None:
    await api.create(CONFIGS, config("c", a="b"))
    accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
    found = await api.get(CONFIGS, Accept=accept)
    assert found["kind"] == "PartialObjectMetadataList"
    assert found["items"][0]["kind"] == "PartialObjectMetadata"
    assert "data" not in found["items"][0]
