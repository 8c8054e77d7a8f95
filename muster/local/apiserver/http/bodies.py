"""Bodies: of requests, read up to a size limit and decoded from JSON with a limit on nesting; and of responses."""

from collections.abc import Sequence
from typing import Any

import msgspec
from aiohttp import web

from muster.local.apiserver.errors import ApiError, bad_request, unsupported_media
from muster.local.apiserver.kinds.resources import Resource
from muster.local.apiserver.storage.stored_objects import Json, StoredObject, encode

BODY_LIMIT = 3 << 20
"""Bytes; kube-apiserver's MaxRequestBodyBytes."""
DEPTH_LIMIT = 100
JSON = "application/json"
_PROTOBUF = "application/vnd.kubernetes.protobuf"
_PIPED = "pipe what kubectl makes from flags: kubectl create ... --dry-run=client -o yaml | kubectl apply -f -"
_decode_json = msgspec.json.Decoder().decode


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


def decode_json(body: bytes) -> Any:
    """Decode JSON, whatever the request calls it; ApiError 400 if it is malformed or nested too deeply."""
    try:
        value = _decode_json(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as failure:
        raise bad_request(f"the body is not JSON: {failure}") from failure
    except RecursionError as failure:
        raise bad_request(f"the body is nested more than {DEPTH_LIMIT} levels deep") from failure
    if isinstance(value, dict | list) and body.count(b"{") + body.count(b"[") > DEPTH_LIMIT:
        _depth(value)
    return value


def decode(body: bytes, content_type: str) -> Any:
    """Decode a body; ApiError 400 if it is malformed, 415 if it is not JSON."""
    if content_type == _PROTOBUF:  # of `kubectl create configmap` and the like, which fall back on nothing
        raise ApiError(415, "UnsupportedMediaType", f"protobuf is not read; {_PIPED}")
    if content_type != JSON:
        raise unsupported_media(content_type, [JSON])
    return decode_json(body)


def list_of(resource: Resource, items: Sequence[StoredObject], metadata: Json) -> bytes:
    """Return a list of objects."""
    head = f'{{"kind":"{resource.kind}List","apiVersion":"{resource.api_version}","metadata":'.encode()
    return b"".join((head, encode(metadata), b',"items":[', b",".join(stored.data for stored in items), b"]}"))


def json_reply(body: bytes, status: int = 200, warnings: Sequence[str] = ()) -> web.Response:
    """Return a JSON response. Each warning becomes a Warning header, which kubectl prints."""
    response = web.Response(body=body, status=status, headers={"Content-Type": "application/json"})
    for warning in warnings:
        text = warning.replace("\\", "\\\\").replace('"', '\\"')
        response.headers.add("Warning", f'299 - "{text}"' if text.isprintable() else '299 - "unknown field"')
    return response


def failure_reply(failure: ApiError) -> web.Response:
    """Return the response of a refused request."""
    return json_reply(encode(failure.status()), failure.code)
