"""Watches: initial events, replay, selectors, bookmarks, and how a watch ends."""

import json

from muster.local.apiserver import ApiServer
from tests.local.apiserver.harness import CONFIGS, PODS, Api, config, pod


async def test_an_object_that_starts_to_match_is_added_and_one_that_stops_is_deleted(api: Api) -> None:
    stream = await api.watch(f"{CONFIGS}?labelSelector=on%3Dyes")
    await api.create(CONFIGS, config("a"))
    for label, expected in (("yes", "ADDED"), ("no", "DELETED"), ("yes", "ADDED")):
        await api.patch(f"{CONFIGS}/a", {"metadata": {"labels": {"on": label}}})
        assert (await stream.next())[0] == expected
    await api.patch(f"{CONFIGS}/a", {"data": {"x": "y"}})
    assert (await stream.next())[0] == "MODIFIED"
    await api.call("DELETE", f"{CONFIGS}/a")
    assert (await stream.next())[0] == "DELETED"
    stream.close()


async def test_a_watch_from_a_compacted_version_ends_with_410(api: Api) -> None:
    first = await api.create(CONFIGS, config("a"))
    for number in range(70):
        await api.patch(f"{CONFIGS}/a", {"data": {"n": str(number)}})
    version = first["metadata"]["resourceVersion"]
    stream = await api.watch(f"{CONFIGS}?resourceVersion={version}")
    assert stream.response.status == 200
    (event,) = await stream.rest()
    assert event[0] == "ERROR"
    assert (event[1]["code"], event[1]["reason"]) == (410, "Expired")
    assert event[1]["message"].startswith(f"too old resource version: {version} (")


async def test_a_watch_from_a_version_of_another_server_ends_with_410(api: Api) -> None:
    newest = int((await api.create(CONFIGS, config("a")))["metadata"]["resourceVersion"])
    stream = await api.watch(f"{CONFIGS}?resourceVersion={newest + 5}")
    (event,) = await stream.rest()
    assert (event[0], event[1]["code"]) == ("ERROR", 410)
    assert event[1]["message"] == f"resource version {newest + 5} is not of this server, whose newest is {newest}"


async def test_an_idle_watch_gets_bookmarks(api: Api) -> None:
    made = await api.create(CONFIGS, config("a"))
    version = made["metadata"]["resourceVersion"]
    stream = await api.watch(f"{CONFIGS}?resourceVersion={version}&allowWatchBookmarks=true&timeoutSeconds=1")
    other = await api.create(PODS, pod("elsewhere"))
    events = await stream.rest()
    assert len(events) >= 3
    assert {kind for kind, _ in events} == {"BOOKMARK"}
    last = events[-1][1]
    assert last["kind"] == "ConfigMap"
    assert last["metadata"]["resourceVersion"] == other["metadata"]["resourceVersion"]


async def test_send_initial_events_ends_them_with_an_annotated_bookmark(api: Api) -> None:
    await api.create(CONFIGS, config("a"))
    query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    stream = await api.watch(f"{CONFIGS}?{query}")
    assert (await stream.next())[0] == "ADDED"
    kind, mark = await stream.next()
    assert kind == "BOOKMARK"
    assert mark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    stream.close()


async def test_a_client_that_does_not_read_delays_no_other_and_gets_410(server: ApiServer, api: Api) -> None:
    slow = await api.watch(CONFIGS)
    fast = await api.watch(CONFIGS)
    big = "x" * 500_000
    for number in range(100):
        await api.create(CONFIGS, config(f"c{number:03}", data=big))
        assert (await fast.next())[1]["metadata"]["name"] == f"c{number:03}"
    # The slow one is behind the kept history; when it continues to read, it gets 410 and has to list again.
    events = []
    async for line in slow.response.content:
        events.append(json.loads(line))
    assert len(events) < 100
    assert events[-1]["type"] == "ERROR"
    assert events[-1]["object"]["code"] == 410
    assert events[-1]["object"]["message"].startswith("the watch was too slow: changes up to resource version ")
    fast.close()


async def test_stopping_the_server_ends_watches(server: ApiServer, api: Api) -> None:
    stream = await api.watch(CONFIGS)
    await api.create(CONFIGS, config("a"))
    assert (await stream.next())[0] == "ADDED"
    await server.stop()
    assert await stream.rest() == []
