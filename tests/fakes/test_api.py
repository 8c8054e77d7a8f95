"""The API server in memory behaves as other tests assume."""

import asyncio
import json

from muster.kube.resources import core
from tests.fakes.api import FakeApi

PODS = core("lab", "pods")


def pod(name: str, **labels: str) -> bytes:
    return json.dumps({"kind": "Pod", "metadata": {"name": name, "labels": labels}}).encode()


async def test_lists_are_selected_and_paged() -> None:
    api = FakeApi()
    for number in range(5):
        await api.request("POST", PODS, body=pod(f"p{number}", odd=str(number % 2)))
    names, token = [], ""
    while True:
        params = {"labelSelector": "odd=0", "limit": "2", **({"continue": token} if token else {})}
        page = json.loads((await api.request("GET", PODS, params=params)).body)
        names.append([item["metadata"]["name"] for item in page["items"]])
        token = page["metadata"].get("continue", "")
        if not token:
            break
    assert names == [["p0", "p2"], ["p4"]]


async def test_a_watch_delivers_earlier_and_later_changes() -> None:
    api = FakeApi()
    await api.request("POST", PODS, body=pod("old"))
    await api.request("POST", PODS, body=pod("since"))
    async with api.lines(PODS, params={"resourceVersion": "1"}, silence=1.0) as lines:
        seen = [json.loads(await anext(lines))]
        coming = asyncio.ensure_future(anext(lines))
        await asyncio.sleep(0)
        await api.request("POST", core("elsewhere", "pods"), body=pod("hidden"))
        await api.request("DELETE", f"{PODS}/since", body=b'{"gracePeriodSeconds": 0}')
        seen.append(json.loads(await coming))
    assert [(event["type"], event["object"]["metadata"]["name"]) for event in seen] == [
        ("ADDED", "since"),
        ("DELETED", "since"),
    ]
