"""Protobuf request bodies."""

from __future__ import annotations

import pytest

from tests.local.apiserver.harness import CONFIGS, Api

PROTOBUF = "application/vnd.kubernetes.protobuf"


def field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return bytes([number << 3, value])
    raw = value.encode() if isinstance(value, str) else value
    return bytes([number << 3 | 2, len(raw)]) + raw


def protobuf(api_version: str, kind: str, raw: bytes) -> bytes:
    return b"k8s\x00" + field(1, field(1, api_version) + field(2, kind)) + field(2, raw) + field(3, "") + field(4, "")


async def test_protobuf_bodies_are_read(api: Api) -> None:
    meta = field(1, "c") + field(11, field(1, "app") + field(2, "x")) + field(7, 0) + field(8, b"")
    raw = (
        field(1, meta)
        + field(2, field(1, "a") + field(2, "1"))
        + field(3, field(1, "b") + field(2, b"\xff"))
        + field(4, 1)
    )
    status, made = await api.call("POST", CONFIGS, protobuf("v1", "ConfigMap", raw), kind=PROTOBUF)
    assert status == 201, made
    assert (made["data"], made["binaryData"], made["immutable"]) == ({"a": "1"}, {"b": "/w=="}, True)
    assert made["metadata"]["labels"] == {"app": "x"}
    options = protobuf("v1", "DeleteOptions", field(2, field(1, "another")))
    assert (await api.call("DELETE", f"{CONFIGS}/c", options, kind=PROTOBUF))[0] == 409


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", 400),
        (b"k8s\x00\xff", 400),
        (b"k8s\x00" + b"\x12\xff\x01ab", 400),
        (protobuf("v1", "ConfigMap", b"\x0a\x7f"), 400),
        (protobuf("v1", "ConfigMap", field(1, 1)), 400),
        (protobuf("v1", "ConfigMap", field(1, field(1, b"\xff\xfe"))), 400),
        (protobuf("apps/v1", "Deployment", b""), 415),
    ],
)
async def test_malformed_protobuf_is_refused(api: Api, body: bytes, code: int) -> None:
    status, answer = await api.call("POST", CONFIGS, body, kind=PROTOBUF)
    assert (status, answer["kind"]) == (code, "Status")
