"""Lists and watches: pages, selectors, replay, bookmarks, and the ways a watch ends."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import quote

import pytest

from muster.local.apiserver import ApiServer
from tests.local.apiserver.storykit import CONFIGS, PODS, Api, config, pod


def labelled(name: str, **labels: str) -> dict[str, Any]:
    body = config(name)
    body["metadata"]["labels"] = labels
    return body


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("tier=front", ["a"]),
        ("tier==front", ["a"]),
        ("tier!=front", ["b", "c", "d"]),
        ("tier in (front, back)", ["a", "b"]),
        ("tier notin (front)", ["b", "c", "d"]),
        ("tier", ["a", "b", "c"]),
        ("!tier", ["d"]),
        ("tier in (front,back),size>1", ["b"]),
        ("size<2", ["a"]),
        ("tier=", ["c"]),
        ("", ["a", "b", "c", "d"]),
    ],
)
async def test_every_label_operator_selects(api: Api, selector: str, names: list[str]) -> None:
    await api.create(CONFIGS, labelled("a", tier="front", size="1"))
    await api.create(CONFIGS, labelled("b", tier="back", size="2"))
    await api.create(CONFIGS, labelled("c", tier=""))
    await api.create(CONFIGS, labelled("d"))
    found = await api.get(f"{CONFIGS}?labelSelector={quote(selector)}")
    assert [i["metadata"]["name"] for i in found["items"]] == names


@pytest.mark.parametrize(
    "query",
    [
        "labelSelector=a+b",
        "labelSelector=a+in+b",
        "labelSelector=a>b",
        "fieldSelector=spec.size%3D1",
        "fieldSelector=metadata.name",
        "limit=many",
        "watch=perhaps",
        "continue=!!",
        "resourceVersionMatch=Exact",
        "resourceVersionMatch=Sometimes&resourceVersion=1",
        "watch=1&sendInitialEvents=true",
        "watch=1&resourceVersionMatch=Exact&resourceVersion=1",
    ],
)
async def test_parameters_that_cannot_be_read_are_bad_requests(api: Api, query: str) -> None:
    status, body = await api.call("GET", f"{CONFIGS}?{query}")
    assert (status, body["reason"]) == (400, "BadRequest")


async def test_fields_select_pods(api: Api) -> None:
    for name in ("a", "b"):
        await api.create(PODS, pod(name))
    binding = {"target": {"name": "node-1"}}
    assert (await api.call("POST", f"{PODS}/a/binding", binding))[0] == 201
    status, body = await api.call("POST", f"{PODS}/a/binding", binding)
    assert (status, body["reason"]) == (409, "Conflict")
    await api.patch(f"{PODS}/b/status", {"status": {"phase": "Failed"}})
    for selector, names in (
        ("spec.nodeName=node-1", ["a"]),
        ("spec.nodeName=", ["b"]),
        ("status.phase!=Failed", ["a"]),
        ("metadata.name=b,status.phase=Failed", ["b"]),
        ("metadata.namespace=default", ["a", "b"]),
    ):
        found = await api.get(f"/api/v1/pods?fieldSelector={quote(selector)}")
        assert [i["metadata"]["name"] for i in found["items"]] == names, selector


async def test_a_list_comes_in_pages_under_one_version(api: Api) -> None:
    for number in range(5):
        await api.create(CONFIGS, config(f"c{number}"))
    first = await api.get(f"{CONFIGS}?limit=2")
    assert [i["metadata"]["name"] for i in first["items"]] == ["c0", "c1"]
    assert first["metadata"]["remainingItemCount"] == 3
    await api.create(CONFIGS, config("c9"))
    second = await api.get(f"{CONFIGS}?limit=2&continue={first['metadata']['continue']}")
    third = await api.get(f"{CONFIGS}?limit=2&continue={second['metadata']['continue']}")
    assert [i["metadata"]["name"] for i in second["items"] + third["items"]] == ["c2", "c3", "c4", "c9"]
    assert third["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert "continue" not in third["metadata"]


async def test_a_version_to_come_is_too_large(api: Api) -> None:
    status, body = await api.call("GET", f"{CONFIGS}?resourceVersion=999999&resourceVersionMatch=NotOlderThan")
    assert (status, body["reason"]) == (504, "Timeout")
    assert body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


async def test_exact_versions_are_served_while_nothing_has_changed(api: Api) -> None:
    await api.create(CONFIGS, config("a"))
    version = (await api.get(CONFIGS))["metadata"]["resourceVersion"]
    await api.create(PODS, pod("unrelated"))
    exact = f"{CONFIGS}?resourceVersion={version}&resourceVersionMatch=Exact"
    assert (await api.get(exact))["metadata"]["resourceVersion"] == version
    await api.create(CONFIGS, config("b"))
    assert (await api.call("GET", exact))[0] == 410


async def test_a_watch_begins_with_what_is_there_and_goes_on(api: Api) -> None:
    await api.create(CONFIGS, config("old"))
    stream = await api.watch(CONFIGS)
    assert [(await stream.next())[1]["metadata"]["name"]] == ["old"]
    made = await api.create(CONFIGS, config("new"))
    assert await stream.next() == ("ADDED", made)
    changed = await api.patch(f"{CONFIGS}/new", {"data": {"a": "b"}})
    assert await stream.next() == ("MODIFIED", changed)
    await api.call("DELETE", f"{CONFIGS}/new")
    kind, last = await stream.next()
    assert (kind, last["data"]) == ("DELETED", {"a": "b"})
    assert int(last["metadata"]["resourceVersion"]) > int(changed["metadata"]["resourceVersion"])
    stream.close()


async def test_a_watch_replays_from_a_version(api: Api) -> None:
    first = await api.create(CONFIGS, config("a"))
    await api.create(CONFIGS, config("b"))
    await api.create(PODS, pod("unrelated"))
    stream = await api.watch(f"{CONFIGS}?resourceVersion={first['metadata']['resourceVersion']}")
    assert (await stream.next())[1]["metadata"]["name"] == "b"
    stream.close()


async def test_entering_a_selection_is_added_and_leaving_it_deleted(api: Api) -> None:
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


async def test_a_version_that_is_forgotten_ends_the_watch_with_410(api: Api) -> None:
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


async def test_a_version_of_another_life_ends_the_watch_with_410(api: Api) -> None:
    stream = await api.watch(f"{CONFIGS}?resourceVersion=424242")
    assert (await stream.next())[1]["code"] == 410
    stream.close()


async def test_bookmarks_come_in_silence_and_at_the_end(api: Api) -> None:
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


async def test_a_watch_list_says_where_the_beginning_ends(api: Api) -> None:
    await api.create(CONFIGS, config("a"))
    query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    stream = await api.watch(f"{CONFIGS}?{query}")
    assert (await stream.next())[0] == "ADDED"
    kind, mark = await stream.next()
    assert kind == "BOOKMARK"
    assert mark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    stream.close()


async def test_a_watcher_that_reads_nothing_delays_nobody_and_is_let_go(server: ApiServer, api: Api) -> None:
    slow = await api.watch(CONFIGS)
    fast = await api.watch(CONFIGS)
    big = "x" * 500_000
    for number in range(100):
        await api.create(CONFIGS, config(f"c{number:03}", data=big))
        assert (await fast.next())[1]["metadata"]["name"] == f"c{number:03}"
    # The slow one is far behind the kept history; when it reads on, it is told to list again.
    events = []
    async for line in slow.response.content:
        events.append(json.loads(line))
    assert len(events) < 100
    assert events[-1]["type"] == "ERROR"
    assert events[-1]["object"]["code"] == 410
    fast.close()


async def test_stopping_the_server_ends_watches_cleanly(server: ApiServer, api: Api) -> None:
    stream = await api.watch(CONFIGS)
    await asyncio.sleep(0.05)
    await server.stop()
    assert await stream.rest() == []
