"""HTTP responses: lists of objects, Status objects and Warning headers."""

from collections.abc import Sequence

from aiohttp import web

from muster.local.apiserver.errors import ApiError
from muster.local.apiserver.kinds.resources import Resource
from muster.local.apiserver.storage.stored_objects import Json, StoredObject, encode


def list_of(resource: Resource, items: Sequence[StoredObject], metadata: Json) -> bytes:
    """A list of objects."""
    head = f'{{"kind":"{resource.kind}List","apiVersion":"{resource.api_version}","metadata":'.encode()
    return b"".join((head, encode(metadata), b',"items":[', b",".join(stored.data for stored in items), b"]}"))


def json_reply(body: bytes, status: int = 200, warnings: Sequence[str] = ()) -> web.Response:
    """A JSON response. Each warning becomes a Warning header, which kubectl prints."""
    response = web.Response(body=body, status=status, headers={"Content-Type": "application/json"})
    for warning in warnings:
        text = warning.replace("\\", "\\\\").replace('"', '\\"')
        response.headers.add("Warning", f'299 - "{text}"' if text.isprintable() else '299 - "unknown field"')
    return response


def failure_reply(failure: ApiError) -> web.Response:
    """The response of a refused request."""
    response = json_reply(encode(failure.status()), failure.code)
    seconds = (failure.details or {}).get("retryAfterSeconds")
    if seconds:
        response.headers["Retry-After"] = str(seconds)
    return response


def success(qualified: str, name: str, uid: str) -> Json:
    """The Status of a completed deletion."""
    plural, _, group = qualified.partition(".")
    details = {"name": name, "kind": plural, "uid": uid}
    if group:
        details["group"] = group
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
