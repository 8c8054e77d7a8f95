"""Lists: selectors, pages, and resource versions."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.local.apiserver.harness import CONFIGS, PODS, Api, config, pod


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
        ("tier in (front,back),size=2", ["b"]),
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
        "continue=!!",
        "watch=1&sendInitialEvents=true",
    ],
)
async def test_an_invalid_query_parameter_is_a_bad_request(api: Api, query: str) -> None:
    status, body = await api.call("GET", f"{CONFIGS}?{query}")
    assert (status, body["reason"]) == (400, "BadRequest")


async def test_a_field_selector_selects_pods(api: Api) -> None:
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
