"""Requests and answers: query parameters, the target of a path, and bodies.

Parameters are parsed as kube-apiserver does (booleans as by Go's strconv.ParseBool). Bodies of requests are read up to
a size limit, and decoded from JSON with a limit on nesting.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import msgspec
from aiohttp import web

from muster.local.apiserver.errors import ApiError, bad_request, unknown_path, unsupported_media
from muster.local.apiserver.kinds.resources import Registry, Resource
from muster.local.apiserver.objects.write_preparation import DeleteOptions, WriteOptions
from muster.local.apiserver.storage.stored_objects import Json, StoredObject, encode

_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))


class _Preconditions(msgspec.Struct, frozen=True, rename="camel"):
    uid: str = ""
    resource_version: str = ""


class _DeleteBody(msgspec.Struct, frozen=True, rename="camel"):
    grace_period_seconds: int | None = None
    propagation_policy: str = ""
    preconditions: _Preconditions = _Preconditions()
    dry_run: list[str] = []


@dataclass(frozen=True, slots=True)
class Query:
    """Typed access to the parameters of one request. ApiError 400 for an invalid number or body."""

    values: Mapping[str, str]

    def text(self, name: str) -> str:
        """Return the parameter as sent; empty if it is missing."""
        return self.values.get(name, "")

    def flag(self, name: str) -> bool:
        """Return a boolean; false if it is missing, or not a way to write true."""
        return self.text(name) in _TRUE

    def number(self, name: str) -> int | None:
        """Return a non-negative integer; None if it is missing."""
        value = self.text(name)
        if not value:
            return None
        if not value.isascii() or not value.isdigit() or len(value) > 18:
            raise bad_request(f'{name}: Invalid value: "{value}": must be a non-negative integer')
        return int(value)

    def write(self, subresource: str = "") -> WriteOptions:
        """Return the options of a create, update or patch."""
        return WriteOptions(self.text("dryRun") == "All", self.text("fieldValidation") or "Warn", subresource)

    def delete(self, body: Any) -> DeleteOptions:
        """Return the options of a delete, from its body and its parameters."""
        try:
            given = msgspec.convert({} if body is None else body, _DeleteBody)
        except msgspec.ValidationError as failure:
            raise bad_request(f"the body of a delete must be DeleteOptions: {failure}") from failure
        grace = given.grace_period_seconds
        return DeleteOptions(
            self.number("gracePeriodSeconds") if grace is None else grace,
            given.propagation_policy or self.text("propagationPolicy"),
            given.preconditions.uid,
            given.preconditions.resource_version,
            self.text("dryRun") == "All" or given.dry_run == ["All"],
        )


def continue_token(version: int, namespace: str, name: str) -> str:
    """Return the token of the next page: it starts after this object and has the resourceVersion of the first page."""
    return base64.urlsafe_b64encode(msgspec.json.encode([version, namespace, name])).decode().rstrip("=")


def read_continue(token: str) -> tuple[int, str, str]:
    """Return version, namespace and name from a continue token; ApiError 400 if it is invalid."""
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        version, namespace, name = msgspec.json.decode(raw, type=tuple[int, str, str])
    except (binascii.Error, ValueError, msgspec.DecodeError) as failure:
        raise bad_request(f"continue key is not valid: {failure}") from failure
    return version, namespace, name


_LONGEST_PATH = 2048


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """Target of a path. An empty `name` is the collection, an empty `namespace` all namespaces."""

    resource: Resource
    namespace: str
    name: str
    subresource: str


def segments(path: str) -> list[str]:
    """Return the decoded segments of a raw path; ApiError 400 if one contains a slash, is `..` or is not printable."""
    if len(path) > _LONGEST_PATH:
        raise bad_request(f"the path is longer than {_LONGEST_PATH} bytes")
    try:
        found = [unquote(part, errors="strict") for part in path.split("/") if part]
    except UnicodeDecodeError as failure:
        raise bad_request("the path is not UTF-8") from failure
    for part in found:
        if part in (".", "..") or "/" in part or "%" in part or not part.isprintable():
            raise bad_request(
                f"the path segment {part!r} is not a valid name; names may not be '.' or '..' or contain '/' or '%'"
            )
    return found


def parse(parts: list[str], registry: Registry) -> RequestInfo:
    """Return the target of a path below /api or /apis; ApiError 404 if nothing is served there."""
    if parts[0] == "api":
        group, rest = "", parts[1:]
    else:
        group, rest = parts[1], parts[2:]
    if len(rest) < 2:
        raise unknown_path()
    version, rest = rest[0], rest[1:]
    namespace = ""
    inside = len(rest) > 2 and rest[0] == "namespaces" and rest[2:] != ["status"]
    if inside:
        namespace, rest = rest[1], rest[2:]
    if len(rest) > 3:
        raise unknown_path()
    resource = registry.find(group, version, rest[0])
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    if inside and not resource.namespaced:
        raise unknown_path()
    if name and resource.namespaced and not namespace:
        raise unknown_path()
    if subresource and subresource not in resource.subresources:
        raise unknown_path()
    return RequestInfo(resource, namespace, name, subresource)


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
