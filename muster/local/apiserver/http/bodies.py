"""Request bodies: read up to a size limit and decoded from JSON, YAML or protobuf, with a limit on nesting."""

from __future__ import annotations

from typing import Any

import msgspec
import yaml
from aiohttp import web

from muster.local.apiserver.errors import ApiError, bad_request, unsupported_media
from muster.local.apiserver.http import protobuf

BODY_LIMIT = 3 << 20
"""Bytes; kube-apiserver's MaxRequestBodyBytes."""
DEPTH_LIMIT = 100
JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
_decode_json = msgspec.json.Decoder().decode
# No timestamp type: Kubernetes reads timestamps as strings.
_RESOLVERS = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader: Any = type(
    "_Loader", (getattr(yaml, "CSafeLoader", yaml.SafeLoader),), {"yaml_implicit_resolvers": _RESOLVERS}
)


def _too_large() -> ApiError:
    return ApiError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {BODY_LIMIT}")


async def read_body(request: web.BaseRequest) -> bytes:
    """Read the body; ApiError 413 if it is larger than the limit."""
    if (request.content_length or 0) > BODY_LIMIT:
        raise _too_large()
    if not request.can_read_body:
        return b""
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.content.iter_any():
        size += len(chunk)
        if size > BODY_LIMIT:
            raise _too_large()
        chunks.append(chunk)
    return b"".join(chunks)


def _depth(value: Any) -> None:
    level = [value]
    for _ in range(DEPTH_LIMIT):
        below: list[Any] = []
        for item in level:
            children = item.values() if isinstance(item, dict) else item
            below += [child for child in children if isinstance(child, dict | list)]
        if not below:
            return
        level = below
    raise bad_request(f"the body is nested more than {DEPTH_LIMIT} levels deep")


def _json(body: bytes) -> Any:
    try:
        value = _decode_json(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as failure:
        raise bad_request(f"the body is not JSON: {failure}") from failure
    except RecursionError as failure:
        raise bad_request(f"the body is nested more than {DEPTH_LIMIT} levels deep") from failure
    if isinstance(value, dict | list) and body.count(b"{") + body.count(b"[") > DEPTH_LIMIT:
        _depth(value)
    return value


def _yaml(body: bytes) -> Any:
    try:
        text = body.decode()
        depth = 0
        for event in yaml.parse(text, Loader=_Loader):
            if isinstance(event, yaml.AliasEvent):
                raise bad_request("the YAML body uses an alias; write the value out")
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > DEPTH_LIMIT:
                raise bad_request(f"the body is nested more than {DEPTH_LIMIT} levels deep")
        value = yaml.load(text, Loader=_Loader)  # noqa: S506 - derived from the safe loader
        # Encoding to JSON and back removes what JSON cannot hold: keys that are no strings, dates, sets, binary data.
        return _decode_json(msgspec.json.encode(value))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, TypeError, ValueError) as failure:
        raise bad_request(f"the body is not YAML that can be written as JSON: {failure}") from failure


def decode(body: bytes, content_type: str) -> Any:
    """Decode a body; ApiError 400 if it is malformed, 415 if the media type is not supported."""
    if content_type == PROTOBUF:
        return protobuf.decode(body)
    if content_type in (YAML, "application/x-yaml", "text/yaml"):
        return _yaml(body)
    if content_type == JSON:
        return _json(body)
    raise unsupported_media(content_type, [JSON, YAML, PROTOBUF])


def decode_apply(body: bytes) -> Any:
    """Decode an applied configuration. Its media type is YAML, but most clients send JSON."""
    return _json(body) if body.lstrip()[:1] == b"{" else _yaml(body)


def decode_patch(body: bytes) -> Any:
    """Decode a JSON, merge or strategic merge patch. Some clients send YAML."""
    return _json(body) if body.lstrip()[:1] in (b"{", b"[") else _yaml(body)
