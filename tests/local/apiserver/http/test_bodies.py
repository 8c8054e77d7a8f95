"""Request bodies: media types, limits, and malformed ones."""

from typing import Any

import pytest

from tests.local.apiserver.harness import CONFIGS, Api


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"[]", 400),
        (b"null", 400),
        (b'"text"', 400),
        (b"[" * 100_000, 400),
        (b'{"a":' * 90_000 + b"1" + b"}" * 90_000, 400),
        (b'{"metadata":' + b'{"a":' * 150 + b"1" + b"}" * 151, 400),
        (b'{"metadata":[]}', 400),
        (b'{"metadata":{"name":7}}', 400),
        (b'{"metadata":{"name":"a","labels":{"a":1}}}', 400),
        (b'{"metadata":{"name":"a","labels":[]}}', 400),
        (b'{"metadata":{"name":"a","finalizers":"x"}}', 400),
        (b'{"metadata":{"name":"a","ownerReferences":[1]}}', 400),
        (b'{"metadata":{"name":"a","ownerReferences":[{}]}}', 422),
        (b'{"metadata":{"name":"a\\u0000b"}}', 422),
        (b'{"metadata":{"name":"a/b"}}', 422),
        (b'{"metadata":{"name":"\\ud800"}}', 400),
        (b'{"metadata":{"name":"a"},"data":{"k":1}}', 400),
        (b'{"kind":"Secret","metadata":{"name":"a"}}', 400),
        (b'{"apiVersion":"v2","metadata":{"name":"a"}}', 400),
        (b'{"metadata":{"name":"a","namespace":"other"}}', 400),
        (b'{"metadata":{"name":"a","resourceVersion":"7"}}', 400),
        (b'{"metadata":{"name":"a"},"data":null}', 201),
        (b"x" * (4 << 20), 413),
    ],
)
async def test_a_malformed_body_is_refused(api: Api, body: bytes, code: int) -> None:
    status, answer = await api.call("POST", CONFIGS, body)
    assert status == code, answer
    assert answer["kind"] == ("ConfigMap" if code == 201 else "Status")
    assert (await api.call("GET", "/readyz"))[0] == 200


async def test_a_chunked_body_is_limited_too(api: Api) -> None:
    async def endless() -> Any:
        for _ in range(64):
            yield b"x" * 65_536

    async with api.session.post(
        api.base + CONFIGS, data=endless(), headers={"Content-Type": "application/json"}
    ) as response:
        assert response.status == 413


@pytest.mark.parametrize("kind", ["application/yaml", "application/xml"])
async def test_a_body_that_is_not_json_is_refused(api: Api, kind: str) -> None:
    status, body = await api.call("POST", CONFIGS, b"metadata: {name: y}", kind=kind)
    assert (status, body["reason"]) == (415, "UnsupportedMediaType")
    assert "accepted media types include: application/json" in body["message"]


async def test_managed_fields_that_a_client_sends_are_not_kept(api: Api) -> None:
    sent = {"metadata": {"name": "a", "managedFields": [{"manager": "m"}]}}
    made = await api.create(CONFIGS, sent)
    status, changed = await api.call("PUT", f"{CONFIGS}/a", sent | {"data": {"k": "v"}})
    assert (status, changed["data"]) == (200, {"k": "v"})
    assert "managedFields" not in made["metadata"] | changed["metadata"]
